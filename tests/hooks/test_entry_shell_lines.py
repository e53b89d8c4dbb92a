"""Shell lines are understood as far as needed; where that is not sure, guards are silent."""

from __future__ import annotations

import json
import random
from pathlib import Path

import msgspec
import pytest

from session_memory.core.loop.guards import Guard
from session_memory.core.schema import SessionEvent
from session_memory.guards.derive import derive
from session_memory.guards.replay import replay
from session_memory.guards.table import concerns_of
from session_memory.hooks import entry


def speaks(rule: str, command: str, root: str = "/work/shop") -> bool:
    check = derive(rule)
    assert check is not None
    guard = Guard("r", "hint", rule, check.when, check.cures)
    event = SessionEvent(0, 0, "tool_call", "agent", tool_class="shell", command=command)
    spoken = bool(replay(guard, [event], root))
    call = entry.Call({"tool_name": "bash", "tool_input": {"command": command}}, root)
    # The hook reads a guard only where the call concerns it.
    assert not spoken or not concerns_of(guard).isdisjoint(call.concerns())
    return spoken


NPM = "Use `bun`, not `npm`."


@pytest.mark.rows("GRD-03")
@pytest.mark.parametrize(
    "command",
    [
        "npm install",
        "cd web && npm i",
        "NODE_ENV=test npm test",
        "sudo -u dev npm i -g x",
        "env CI=1 npm ci",
        "time npm test 2>&1 | tail -5",
        "ls; npm test",
        "(cd web && npm test)",
        "bash -lc 'npm test'",
        "if ! npm test; then echo no; fi",
        "true && { npm test; }",
        "timeout 60 npm test",
        "/usr/bin/npm test",
        "npm run \\\n  build",
        "cat > x.txt <<'EOF'\nrm -rf /\nEOF\nnpm test",
        'echo "a && b" && npm test',
        "for d in a b; do npm test; done",
        "$SETUP; npm test",
        "git commit -m \"$(cat <<'EOF'\nit's (odd :)\n\"x\nEOF\n)\" && npm test",
        'echo "$(basename "$(pwd)")" && npm test',
        "echo $'it\\'s' && npm test",
        "echo \"$(git log --format='%h (%s)')\"; npm test",
        "echo $((1+2)); npm test",
        "( (npm test) )",
        "echo \"it's $'5\" && npm test",
    ],
)
def test_a_command_is_found_in_its_line(command: str) -> None:
    assert speaks(NPM, command)


@pytest.mark.rows("GRD-03")
@pytest.mark.parametrize(
    "command",
    [
        "bun install",
        "echo npm install",
        "echo 'npm install'",
        "git commit -m 'use npm; npm install'",
        "cat > x.txt <<'EOF'\nnpm install\nEOF",
        "command -v npm",
        "which npm",
        "grep -r npm .",
        "npx tsc",
        "./npm-stats",
        'echo "npm test',
        "case $x in a) npm test;; esac",
        "# npm install",
        "ls # npm install",
        'bash -lc "$SCRIPT"',
        "diff <(npm ls) old",
        "",
        "cat <<-EOF\n\tnpm install\n\tEOF",
        "cat <<'A' <<'B'\nnpm a\nA\nnpm b\nB",
        "cat <<EOF\nnpm install",
        "<<EOF cat\nnpm i\nEOF",
        "cat << 'END' | tee f\nnpm i\nEND",
        "bash <<'EOF'\nnpm install\nEOF",
        "tee f <<< 'npm i'",
        "echo $(cat <<'E'\n)\nnpm i\nE\n)",
        "gh pr create --body \"$(cat <<'EOF'\nDon't use it)\nnpm install\nEOF\n)\"",
        "echo $'a\\'; npm install; echo \\'b'",
        "echo $'a' '; npm install' $'b'",
        'echo "a $(echo ")" npm i)"',
        "echo $(echo ')'; npm ls)",
        'echo "a\nnpm install"',
        'echo "\\"; npm i"',
        "echo '\\'; echo npm",
        "echo a \\\nnpm install",
        "alias npm=bun",
        'npm() { bun "$@"; }',
        "function npm { bun; }",
        "x=(npm install)",
        "echo {npm,install}",
        "(( npm = 1 ))",
        "let npm=3",
        "[[ $x == npm ]] && echo yes",
        "for npm in a b; do echo $npm; done",
        "while read npm; do echo $npm; done < f",
        "xargs npm < x",
        "ls | xargs -n1 npm view",
        "find . -exec npm i \\;",
        "docker run node npm install",
        "ssh host 'npm install'",
        "trap 'npm stop' EXIT",
        "echo ${x:-npm install}",
        "awk '/npm/ {print; npm install}' f",
        "sed -i 's/npm install/bun install/' README.md",
        "echo hi >npm",
        "echo >&2 npm",
        "cd npm && ls",
        "sudo -l npm",
        "true # && npm install",
        "export npm_config_cache=/tmp/x",
        "env -i",
        "timeout 5",
        "sudo",
    ],
)
def test_what_only_mentions_it_is_left_alone(command: str) -> None:
    assert not speaks(NPM, command)


@pytest.mark.parametrize(
    ("rule", "command", "wanted"),
    [
        ("Use `python -m pytest`, not `pytest`.", "pytest -q", True),
        ("Use `python -m pytest`, not `pytest`.", "python -m pytest -q", False),
        ("Run `tsc` as `npx tsc`.", "tsc --noEmit", True),
        ("Run `tsc` as `npx tsc`.", "npx tsc --noEmit", False),
        ("Do not pass `--fix` to `eslint`.", "npx eslint@9 --fix src", True),
        ("Do not pass `--fix` to `eslint`.", "eslint src", False),
        ("Pass `--frozen` to `uv sync`.", "uv sync", True),
        ("Pass `--frozen` to `uv sync`.", "uv sync --frozen", False),
        ("Pass `--frozen` to `uv sync`.", "uv sync $FLAGS", False),
        ("`make all` fails here; use `make build`.", "make all", True),
        ("`make all` fails here; use `make build`.", "make all -j4", False),
        ("Run `bun` without `rtk`.", "rtk bun run test", True),
        ("Never run `git push --force`.", "git -C x push --force", True),
        ("Never run `git push --force`.", "git push", False),
    ],
)
def test_options_wrappers_and_runners_count(rule: str, command: str, wanted: bool) -> None:
    assert speaks(rule, command) is wanted


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("git push origin main", True),
        ("git push origin HEAD:main", True),
        ("git push -u origin +main", True),
        ("git push", True),
        ("git push origin HEAD", True),
        ("git push origin feature", False),
        ("git push origin main:backup", False),
        ("git push --dry-run origin main", False),
        ("git push origin --tags", False),
        ("git push origin $BRANCH", False),
        ("cd /somewhere/else && git push", False),
        ("git checkout -b dev && git push", False),
        ("git switch dev && git push -u origin HEAD", False),
        ("git branch -m dev; git push", False),
        ("git checkout -b dev && git push origin main", True),
        ("git add . && git commit -m \"$(cat <<'E'\nit's 1) x\nE\n)\" && git push", True),
        ("git --git-dir=/x/.git push", False),
        ("git push --help main", False),
        ("git push origin main-2", False),
        ("git push origin feature/main", False),
        ("git push origin refs/tags/main", False),
        ("git push origin HEAD:refs/for/main", False),
        ("git subtree push --prefix x origin main", False),
        ("git stash push main", False),
    ],
)
def test_where_a_push_goes_is_read_from_the_line_or_the_checkout(
    tmp_path: Path, command: str, wanted: bool
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    assert speaks("Never push to main.", command, str(tmp_path)) is wanted


def test_a_directory_is_followed_through_the_line(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    rule = "Run `go test` in `src`."
    assert speaks(rule, "go test", str(tmp_path))
    assert not speaks(rule, "cd src && go test", str(tmp_path))
    assert not speaks(rule, "cd $X && go test", str(tmp_path))
    assert speaks(rule, "(cd src && ls); go test", str(tmp_path))


def test_past_sessions_are_looked_at_from_where_they_began(tmp_path: Path) -> None:
    check = derive(NPM)
    assert check is not None
    guard = Guard("r", "hint", NPM, check.when, check.cures)
    event = SessionEvent(0, 0, "tool_call", "agent", tool_class="shell", command="cd .. && npm i")
    assert replay(guard, [event], str(tmp_path), str(tmp_path / "web"))
    assert not replay(guard, [event], str(tmp_path), str(tmp_path))
    checkout = str(tmp_path.parent / "another-checkout")
    assert replay(guard, [event], str(tmp_path), f"{checkout}/web") == []
    at_its_root = SessionEvent(0, 0, "tool_call", "agent", tool_class="shell", command="npm i")
    assert replay(guard, [at_its_root], str(tmp_path), checkout)


@pytest.mark.parametrize(
    ("pattern", "path", "wanted"),
    [
        ("dist/", "dist/a/b.js", True),
        ("dist/", "distant/a.js", False),
        ("docs/cli.md", "docs/cli.md", True),
        ("**/*.min.js", "a.min.js", True),
        ("**/*.min.js", "x/y/a.min.js", True),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/a/b.py", False),
        ("src/**/gen.py", "src/a/b/gen.py", True),
    ],
)
def test_paths_fit_patterns(pattern: str, path: str, wanted: bool) -> None:
    assert entry.fits(pattern, path) is wanted


def test_no_line_makes_the_reader_fail() -> None:
    signs = ["'", '"', "$(", ")", "`", "<<E", "\n", "&&", ">", "\\", "npm", " ", "${", "#", "("]
    for one in signs:
        for two in signs:
            for three in signs:
                entry.calls_of(f"npm {one}{two}{three} test", "/x")


def test_no_line_makes_a_guard_fail(tmp_path: Path) -> None:
    text = (
        "cd;pushd;popd;~;~$USER/x;$X;-;--;-C;-C$X;--prefix=;git;push;tag;HEAD;:;npx;uvx;uv;run;tool"
        ";mise;x;@;@a/b;python;-m;sudo;-u;env;GIT_DIR=x;export;=;make;check;sed;-i;-f;tee;>;(;);&&"
        ";||;|;a/../b;\0;''"
    )
    pieces = text.split(";")
    rules = (
        NPM,
        "Never push to main.",
        "`gen/` is generated.",
        "Run `make check` before you finish.",
    )
    draw = random.Random(7)
    for _ in range(2_000):
        line = " ".join(draw.choices(pieces, k=draw.randint(1, 7)))
        for rule in rules:
            speaks(rule, line, str(tmp_path))


def test_a_condition_reads_the_same_for_the_hook() -> None:
    check = derive("Do not pass `--fix` to `eslint`.")
    assert check is not None
    assert json.loads(msgspec.json.encode(check.when)) == {
        "kind": "run",
        "words": ["eslint"],
        "with": ["--fix"],
    }
