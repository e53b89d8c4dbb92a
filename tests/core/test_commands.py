"""What a shell command runs, verifies and changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_memory.core.commands import changes_files, normalized, reads_only, steps
from session_memory.distil.checks import check_of


@pytest.mark.parametrize(
    ("command", "kinds"),
    [
        ("pytest -q", ["test"]),
        (".venv/bin/pytest -q tests/core", ["test"]),
        ("python -m pytest", ["test"]),
        ("python3.12 -m unittest discover", ["test"]),
        ("python -m build", ["build"]),
        ("uv run --with x pytest", ["test"]),
        ("CI=1 NODE_ENV=test npx --yes jest", ["test"]),
        ("cd /repo/src && go build ./... 2>&1 | tail -60 && go test ./...", ["build", "test"]),
        ("sudo -u me timeout -k 5 60 make check", ["test"]),
        ("make", ["build"]),
        ("make -j4 all", ["build"]),
        ("npm test", ["test"]),
        ("npm run typecheck", ["types"]),
        ("bun run lint 2>&1 | tail -5", ["lint"]),
        ("pnpm --filter web run build", ["build"]),
        ("yarn test:unit --watch=false", ["test"]),
        ("cargo clippy --all-targets", ["lint"]),
        ("cargo +nightly test", ["test"]),
        ("cargo fmt --check", ["lint"]),
        ("ruff check . && ruff format --check .", ["lint"]),
        ("gofmt -l . && echo CLEAN", ["lint"]),
        ("npx tsc --noEmit", ["types"]),
        ("./gradlew :app:test", ["test"]),
        ("mvn -q verify", ["test"]),
        ("bash -lc 'cd x && pytest -q'", ["test"]),
        ("bash scripts/ci.sh", ["test"]),
        ("./test.sh", ["test"]),
        ("python manage.py test", ["test"]),
        ("bundle exec rspec", ["test"]),
        ("dotnet build", ["build"]),
        ("docker build -t x .", ["build"]),
        ("pre-commit run --all-files", ["lint"]),
        ("rtk bun run test 2>&1", ["test"]),
        ("npx playwright test", ["test"]),
        ("D:\\repo\\node_modules\\.bin\\vitest.cmd run", ["test"]),
        ("go vet ./... & wait", ["lint"]),
        ("mise run test:ci", ["test"]),
        ("npm t", ["test"]),
        ("npm run ci", ["test"]),
        ("node --test tests/", ["test"]),
        ("ng test --watch=false", ["test"]),
        ("nix develop -c cargo test", ["test"]),
        ("nix-shell --run 'make test'", ["test"]),
        ("docker exec -e CI=1 app pytest -q", ["test"]),
        ("docker compose run --rm web pytest", ["test"]),
        ("pixi run test", ["test"]),
        ("yarn workspace app test", ["test"]),
        ("npx --yes github-actionlint@latest a.yml", ["lint"]),
    ],
)
def test_verification_is_found_behind_wrappers(command: str, kinds: list[str]) -> None:
    check = check_of(command)
    assert check is not None
    assert list(check.kinds) == kinds


@pytest.mark.parametrize(
    "command",
    [
        "",
        "git status",
        'git commit -m "test: pytest passes"',
        "git commit -m \"$(cat <<'EOF'\ntest: run\npytest -q\nEOF\n)\"",
        "grep -rn pytest .",
        'echo "npm test"',
        "pip install pytest mypy",
        "npm install --save-dev jest",
        "which pytest golangci-lint",
        "pytest --version",
        "cat tests/test_build.py",
        "black .",
        "ruff format src",
        "prettier --write .",
        "gofmt -w .",
        "make clean",
        "npm run dev",
        "npm run start test",
        "go run ./cmd/check",
        "test -f build.log",
        "python - <<'EOF'\nimport pytest\nEOF",
        "ls build",
        "docker run image pytest-less",
        "mkdir -p build",
    ],
)
def test_commands_that_only_mention_a_check_verify_nothing(command: str) -> None:
    assert check_of(command) is None


@pytest.mark.parametrize(
    ("command", "tells"),
    [
        ("pytest -q", True),
        ("cd x && pytest -q", True),
        ("cd x; pytest -q", True),
        ("pytest -q && echo OK", True),
        ("pytest -q 2>&1", True),
        ("pytest -q > out.txt", True),
        ("pytest -q &> out.txt", True),
        ("pytest -q\n", True),
        ("pytest -q | tail -20", False),
        ("set -o pipefail; pytest -q | tail -20", True),
        ("pytest -q || true", False),
        ("pytest -q; echo done", False),
        ("pytest -q\necho done", False),
        ("pytest -q &", False),
        ("bash -c 'pytest -q' | head", False),
        ("bash -c 'pytest -q || true'", False),
    ],
)
def test_an_exit_code_counts_only_where_nothing_replaces_it(command: str, tells: bool) -> None:
    check = check_of(command)
    assert check is not None
    assert check.exit_tells is tells


def test_normalized_names_the_command_without_its_surroundings() -> None:
    assert (
        normalized("cd /a && FOO=1 timeout 60 pytest -q tests 2>&1 | tail -5") == "pytest -q tests"
    )
    assert normalized("cd /b && .venv/bin/pytest -q tests") == "pytest -q tests"
    assert normalized("git add . && git commit -m 'x'") == "git add . && git commit -m 'x'"
    assert normalized("tail -5 log.txt") == "tail -5 log.txt"
    assert normalized("   ") == ""


def test_edits_made_by_the_shell_are_seen() -> None:
    assert changes_files("sed -i 's/a/b/' x.py")
    assert changes_files("cat > src/x.py <<'EOF'\nhello\nEOF")
    assert changes_files("git apply fix.patch")
    assert changes_files("apply_patch <<'EOF'\n*** Begin Patch\nEOF")
    assert not changes_files("cat x.py > /dev/null")
    assert not changes_files("ls -la 2>&1")
    assert not changes_files("git checkout main")
    assert not changes_files("echo done")


def test_steps_keep_order_and_drop_redirections() -> None:
    found = steps("git fetch > /dev/null; git log --oneline | head -3")
    assert [(step.program, step.words) for step in found] == [
        ("git", ("fetch",)),
        ("git", ("log", "--oneline")),
        ("head", ("-3",)),
    ]


@given(st.text(alphabet="ab'\"\\ |&;<>$(){}\n-=1/", max_size=120))
def test_any_text_is_a_command_without_failure(text: str) -> None:
    check_of("pytest " + text)
    normalized(text)
    changes_files(text)


def test_a_huge_command_is_read_at_its_head_only() -> None:
    assert check_of("x" * 5_000_000 + " && pytest") is None
    check = check_of("pytest " + "9" * 1_000_000)
    assert check is not None


def test_the_tag_of_a_redacted_secret_is_no_word_of_the_command() -> None:
    tagged = [check_of(f"make step-1 [REDACTED_SECRET:{tag}]") for tag in ("15e2e004", "2f004aaa")]
    assert tagged[0] == tagged[1]


@pytest.mark.parametrize("command", ["npm ci", "command -v pytest", "which go"])
def test_what_installs_or_looks_verifies_nothing(command: str) -> None:
    assert check_of(command) is None


@pytest.mark.parametrize(
    ("command", "looks"),
    [
        ("git status --short && git log -3 | head", True),
        ("gh api repos/a/b", True),
        ("gh api --method PUT repos/a/b", False),
        ("cat a > b", False),
        ("npm view react version", True),
        ("npm install", False),
        ("git push", False),
    ],
)
def test_commands_that_only_read_are_distinguished_from_those_that_act(
    command: str, looks: bool
) -> None:
    assert reads_only(command) is looks
