"""Lines that only look like what a rule forbids, and lines that hide it: none wrong, few missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from session_memory.core.loop.guards import Guard
from session_memory.core.schema import SessionEvent
from session_memory.guards.derive import derive
from session_memory.guards.replay import replay
from session_memory.guards.table import concerns_of
from session_memory.hooks import entry

NPM, PUSH, GEN = "Use `bun`, not `npm`.", "Never push to main.", "`gen/` is generated."
CHECK, FORCE = "Run `make check` before you finish.", "Never run `git push --force`."
PIP, GIT_ADD = "Use `uv`, not `pip`.", "Never run `git add -A`."


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository on main with a generated file, beside another one."""
    for name in ("shop", "other"):
        (tmp_path / name / ".git").mkdir(parents=True)
        (tmp_path / name / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for name in ("web", "gen", "src"):
        (tmp_path / "shop" / name).mkdir()
    for name in ("gen/a.py", "src/b.py", "gen/edit.sed"):
        (tmp_path / "shop" / name).write_text("x\n")
    return tmp_path / "shop"


def speaks(rule: str, root: Path, *commands: str) -> bool:
    """Whether the guard of a rule speaks to these lines, or at the end of their turn."""
    check = derive(rule)
    assert check is not None
    guard = Guard("r", "hint", rule, check.when, check.cures)
    events = [
        SessionEvent(n, n, "tool_call", "agent", tool_class="shell", command=command)
        for n, command in enumerate(commands)
    ]
    spoken = bool(replay(guard, events, str(root)))
    payloads = [{"tool_name": "bash", "tool_input": {"command": line}} for line in commands]
    names = [entry.Call(payload, str(root)).concerns() for payload in payloads]
    # The hook reads a guard only where a call concerns it.
    assert not spoken or any(not concerns_of(guard).isdisjoint(one) for one in names)
    return spoken


INNOCENT = [
    # another program, or another registry's package of that name
    (NPM, "uvx npm"),
    (NPM, "uvx --from npm bower"),
    (NPM, "uv tool run npm --help"),
    (NPM, "uv run --with npm script.py"),
    (NPM, "pipx run npm"),
    (NPM, "python -m npm"),
    (NPM, "npx @acme/npm"),
    (NPM, "npx npm-check-updates -u"),
    (NPM, "mise x npm@10 -- bun install"),
    (PIP, "npx pip install x"),
    (NPM, "npm --version"),
    (NPM, "npm -v && bun install"),
    (PIP, "pip --help"),
    (NPM, "npm help install"),
    (NPM, "exec -a npm bun run start"),
    # text about it
    (NPM, 'echo "npm install"'),
    (NPM, 'printf "%s\\n" "npm install" >> README.md'),
    (NPM, "git commit -m 'docs: say npm install; npm test'"),
    (NPM, "git commit -m \"$(printf 'a\\n\\nnpm install')\""),
    (NPM, "git log --grep='npm install' --oneline | head"),
    (NPM, "rg -n 'npm (install|ci)' docs | sort | uniq -c"),
    (NPM, "sed -n '/npm install/p' README.md"),
    (NPM, "gh issue create --title 'npm install fails' --body 'run npm ci'"),
    (NPM, "jq '.scripts[\"npm\"]' package.json"),
    (NPM, "cat <<'EOF' > notes.md\n# Setup\nnpm install && npm test\nEOF\nbun install"),
    (NPM, "python - <<'EOF'\nprint('x')\nnpm = 1\nEOF"),
    (NPM, "curl -s https://x.test/npm | sh -s -- npm"),
    (NPM, "man npm; type npm; hash npm; whereis npm"),
    (NPM, "ls node_modules/npm && rm -rf node_modules/npm"),
    (NPM, "ps aux | grep 'npm run dev' | grep -v grep"),
    (NPM, "pgrep -fl npm || true"),
    (NPM, "Write-Host 'npm install'; Get-Command npm"),
    (NPM, "$cmd = 'npm install'; Write-Output $cmd"),
    (NPM, "@'\nnpm install\n'@ | Set-Content x.txt"),
    (NPM, "xargs -I{} echo npm {} < list"),
    (NPM, "test -f package-lock.json || echo 'use bun, not npm' >&2"),
    # another place
    (NPM, "cd ../other && npm install"),
    (NPM, "(cd ../other; npm install)"),
    (NPM, "npm --prefix ../other install"),
    (NPM, "bash -c 'cd ../other && npm test'"),
    (NPM, "cd $(mktemp -d) && npm init -y"),
    (NPM, "T=$(mktemp -d); cd $T && npm i left-pad"),
    (NPM, "cd ~ && npm i -g x"),
    (NPM, "cd - && npm test"),
    (PUSH, 'cd "$OTHER" && git push origin main'),
    (PUSH, "git -C $OTHER push origin main"),
    (NPM, "docker compose exec web npm install"),
    (PUSH, "cd ../other && git push origin main"),
    (PUSH, "git -C ../other push origin main"),
    (PUSH, "git -C ../other push"),
    # where a push goes
    (PUSH, "git push origin tag main"),
    (PUSH, "GIT_DIR=x git push"),
    (PUSH, "GIT_DIR=../other/.git git push origin main"),
    (PUSH, "env GIT_DIR=x GIT_WORK_TREE=y git push"),
    (PUSH, "export GIT_DIR=../other/.git; git push origin main"),
    (PUSH, "git --git-dir=../other/.git push origin main"),
    (PUSH, "git push origin main:feature"),
    (PUSH, "git push origin refs/heads/main:refs/heads/wip"),
    (PUSH, "git push -o main origin feature"),
    (PUSH, "git push --repo main origin feature"),
    (PUSH, 'grep -r "git push origin main" .'),
    (PUSH, "git log origin/main..HEAD && git push origin HEAD:wip"),
    (PUSH, "git co -b wip && git push"),
    (PUSH, "gh pr checkout 12 && git push"),
    (PUSH, "git push origin --delete feature"),
    (PUSH, "git config alias.p 'push origin main'"),
    (PUSH, "git fetch origin main && git rebase origin/main"),
    (FORCE, "git commit -m 'never git push --force'"),
    (FORCE, "git push --force-with-lease"),
    (FORCE, "git fetch --force && git push"),
    (GIT_ADD, "git add -p && git commit -A"),
    (GIT_ADD, "echo git add -A"),
    # files
    (GEN, "cat gen/a.py > /tmp/copy.py"),
    (GEN, "sed -i -f gen/edit.sed src/b.py"),
    (GEN, "tee /tmp/x < gen/a.py"),
    (GEN, "echo 'x > gen/a.py'"),
    (GEN, "grep -n x gen/a.py 2>/dev/null"),
    (GEN, "[ 3 \\> gen/a.py ]"),
    (GEN, "diff src/b.py gen/a.py | tee /tmp/d"),
    (GEN, "perl -ne 'print if /i/' gen/a.py"),
]


@pytest.mark.rows("GRD-02")
@pytest.mark.parametrize(("rule", "command"), INNOCENT)
def test_an_innocent_line_is_left_alone(rule: str, command: str, shop: Path) -> None:
    assert not speaks(rule, shop, command)


CAUGHT = [
    (NPM, "npm i"),
    (NPM, "set -e; cd web; npm ci"),
    (NPM, 'cd "web" && npm run build -- --prod'),
    (NPM, "CI=1 FOO='a b' npm test"),
    (NPM, "npm test > out.log 2>&1 &"),
    (NPM, "npm\ttest"),
    (NPM, "! npm test"),
    (NPM, "(npm ls)"),
    (NPM, "if true; then npm i; fi"),
    (NPM, "while ! npm test; do sleep 1; done"),
    (NPM, "false || npm i"),
    (NPM, "nohup npm start >/dev/null 2>&1 &"),
    (NPM, "sudo -E npm i -g x"),
    (NPM, "nice -n 5 npm test"),
    (NPM, "timeout -k 5 60s npm test"),
    (NPM, "env -u CI npm test"),
    (NPM, "sh -c 'npm i'"),
    (NPM, 'bash -lc "cd web && npm i"'),
    (NPM, "echo yes | npm init"),
    (NPM, "npx npm@8 install"),
    (NPM, "uv run npm test"),
    (NPM, "npm --prefix web install"),
    (NPM, "cd web && (cd ../src && npm i)"),
    (NPM, "cat <<EOF > x\nhi\nEOF\nnpm i"),
    (NPM, "# first\nnpm i"),
    (NPM, "'npm' i"),
    (NPM, "n\\pm i"),
    (NPM, "npm -v; npm i"),
    ("Never run `pip install`.", "uv run python -m pip install x"),
    (PIP, ".venv/bin/pip install x"),
    (PUSH, "git push origin main"),
    (PUSH, "git push"),
    (PUSH, "git push --force-with-lease origin main"),
    (PUSH, "git push origin HEAD:refs/heads/main"),
    (PUSH, "git push origin :main"),
    (PUSH, "git push -o ci.skip origin main"),
    (PUSH, "git push origin tag v1 main"),
    (PUSH, "git push origin feature main"),
    (PUSH, "git add . && git commit -qm 'x; y' && git push -q"),
    (PUSH, "git -C web push origin main"),
    (PUSH, "git -c push.default=current push"),
    (FORCE, "git push origin wip --force"),
    (GIT_ADD, "git status && git add -A && git commit -m x"),
    (GEN, "echo x >> gen/a.py"),
    (GEN, "cd gen && echo x > a.py"),
    (GEN, "printf x | tee gen/a.py"),
    (GEN, "sed -i.bak -e s/x/y/ gen/a.py"),
    (GEN, "perl -pi -e s/x/y/ gen/a.py"),
    (GEN, "cd $X; echo x > {root}/gen/a.py"),
    (NPM, "pushd ../other && ls && popd && npm i"),
    (NPM, "cd {root}/web && npm i"),
]


@pytest.mark.rows("GRD-03")
@pytest.mark.parametrize(("rule", "command"), CAUGHT)
def test_a_line_that_does_it_is_caught(rule: str, command: str, shop: Path) -> None:
    assert speaks(rule, shop, command.replace("{root}", str(shop)))


RAN = [
    "make check",
    "make -j4 check",
    "make lint check",
    "make -C . check",
    "cd web && make -C .. check | tail",
    "docker compose run --rm app make check",
    "nix develop -c make check",
    "ssh box 'cd shop && make check'",
    "case $x in a) make check;; esac",
    "diff <(make check 2>&1) old",
    "find . -name Makefile -execdir make check \\;",
    'bash -lc "$SETUP && make check"',
    "time make check 2>&1 | tee log",
]
NOT_RAN = [
    "make check-format",
    "echo make check",
    "git commit -m 'make check passes'",
    "grep -n 'make check' README.md",
    "make --version",
    "cat Makefile # make check",
]


@pytest.mark.rows("GRD-02")
@pytest.mark.parametrize("command", RAN)
def test_a_check_that_ran_in_whatever_way_counts(command: str, shop: Path) -> None:
    assert not speaks(CHECK, shop, "echo x > src/b.py", command)


@pytest.mark.rows("GRD-07")
@pytest.mark.parametrize("command", NOT_RAN)
def test_a_check_that_was_only_mentioned_did_not_run(command: str, shop: Path) -> None:
    assert speaks(CHECK, shop, "echo x > src/b.py", command)
