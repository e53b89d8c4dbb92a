"""Which shell commands verify work, and whether their exit code counts."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize("command", ["npm ci", "command -v pytest", "which go"])
def test_what_installs_or_looks_verifies_nothing(command: str) -> None:
    assert check_of(command) is None
