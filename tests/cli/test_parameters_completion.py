"""A shell completes names from the store: sessions, projects, agents, rules, keys and topics."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.e2e.pseudo_terminal import Seat, at_terminal

from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace

BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None or os.name == "nt", reason="no bash")
RULE = "e27ec571fd43"
HEAVY = ("tomlkit", "re2", "session_memory.redact", "session_memory.adapters", "asyncio")


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    space = Workspace(tmp_path_factory.mktemp("completion"))
    write_samples(space.claude)
    for words in (("sweep",), ("rules",)):
        assert space.run("--config", str(space.write_config()), *words).returncode == 0
    return space


def environ_with_program(space: Workspace) -> dict[str, str]:
    """An environment in which a shell finds the program."""
    bin_ = space.root / "bin"
    bin_.mkdir(exist_ok=True)
    program = bin_ / "session-memory"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m session_memory "$@"\n')
    program.chmod(0o755)
    environ = space.environ()
    return {**environ, "PATH": f"{bin_}{os.pathsep}{environ['PATH']}"}


def tab(space: Workspace, *words: str) -> tuple[list[str], str]:
    """What bash would offer for the last word, and what it would print in between."""
    script = """
        eval "$(session-memory shell-completion bash)"
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        _session_memory_completion session-memory
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    environ = {**environ_with_program(space), "SESSION_MEMORY_DEBUG": "1"}
    done = subprocess.run(
        [str(BASH), "-c", script, "bash", "session-memory", *words],
        env=environ,
        cwd=space.root,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.split(), done.stderr


@needs_bash
@pytest.mark.rows("CLI-08")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("show", ""), {"1", "6"}),
        (("show", "4b5c"), {"4b5c3992-2198-468d-b41f-399cf30e2501"}),
        (("project", "pack", "--session", ""), {"1", "6"}),
        (("sessions", "--project", "s"), {"shop"}),
        (("project", "merge", ""), {"shop"}),
        (("sessions", "--agent", "co"), {"codex", "copilot"}),
        (("rules", "approve", "e2"), {RULE}),
        (("rules", "explain", "e2"), {RULE}),
        (("config", "set", "retention.raw_max"), {"retention.raw_max_age_days"}),
        (("help", "g"), {"gate"}),
        (("help", "rules", "ap"), {"approve"}),
        (("rules", "app"), {"approve"}),
        (("sessions", "--out"), {"--outcome"}),
    ],
)
def test_bash_completes(space: Workspace, words: tuple[str, ...], offered: set[str]) -> None:
    found, printed = tab(space, "--config", str(space.write_config()), *words)
    assert offered <= set(found) and printed == ""
    assert all(name.startswith(words[-1]) for name in found)


@needs_bash
@pytest.mark.rows("CLI-08")
@pytest.mark.parametrize("state", ["nothing", "garbage", "broken configuration"])
def test_bash_offers_nothing_and_prints_nothing_where_the_store_is_no_help(
    tmp_path: Path, state: str
) -> None:
    space = Workspace(tmp_path)
    config = space.write_config()
    if state == "garbage":
        space.store_directory.mkdir()
        (space.store_directory / "store.db").write_bytes(b"junk" * 1000)
    if state == "broken configuration":
        config.write_text("[broken")
    before = sorted(tmp_path.rglob("*"))
    for words in (("show", ""), ("sessions", "--project", ""), ("rules", "show", "")):
        assert tab(space, "--config", str(config), *words) == ([], "")
    made = set(tmp_path.rglob("*")) - set(before)
    assert {path.name for path in made} <= {"bin", "session-memory"}, "completing makes no store"


@pytest.mark.rows("CLI-08")
@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_the_titles_too(
    space: Workspace, monkeypatch: pytest.MonkeyPatch, shell: str
) -> None:
    monkeypatch.setenv("_SESSION_MEMORY_COMPLETE", f"{shell}_complete")
    monkeypatch.setenv("COMP_WORDS", f"session-memory --config {space.write_config()} show ")
    monkeypatch.setenv("COMP_CWORD", "" if shell == "fish" else "4")
    done = space.run_process()
    assert "Fix double discount in cart total" in done.stdout and done.stderr == ""


@pytest.mark.rows("CLI-08")
@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish")
@pytest.mark.parametrize(
    ("begun", "offered"),
    [
        ("sessions --project s", "shop\t"),
        ("show 4b5c", "4b5c3992-2198-468d-b41f-399cf30e2501\tclaude "),
        ("rules approve e2", f"{RULE}\t"),
        ("sessions --al", "--all\tAll of them, whatever --limit says."),
    ],
)
def test_fish_completes(space: Workspace, begun: str, offered: str) -> None:
    script = 'session-memory shell-completion fish | source; complete -C "$argv"'
    line = f"session-memory --config {space.write_config()} {begun}"
    done = subprocess.run(
        ["fish", "--no-config", "-c", script, line],
        env=environ_with_program(space),
        cwd=space.root,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(offered.rstrip("\t")), done


@pytest.mark.rows("CLI-08")
@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh")
def test_zsh_completes(space: Workspace) -> None:
    (space.root / ".zshrc").write_text(
        "unset zle_bracketed_paste; autoload -Uz compinit; compinit -u\n"
        'eval "$(session-memory shell-completion zsh)"; PS1="ready> "\n'
    )
    environ = {**environ_with_program(space), "ZDOTDIR": str(space.root), "TERM": "dumb"}
    line = f"session-memory --config {space.write_config()} config set retention.raw_max"
    seen = at_terminal(
        Seat(environ, space.root),
        ["zsh", "--no-global-rcs", "-i"],
        [("ready> ", f"{line}\t"), ("_age_days", "\x15exit\n")],
    )
    assert seen.code == 0


@pytest.mark.rows("CLI-08")
def test_completing_imports_nothing_heavy(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_SESSION_MEMORY_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "session-memory sessions --project s")
    monkeypatch.setenv("COMP_CWORD", "3")
    environ = {**space.environ(), "SESSION_MEMORY_STORE_PATH": str(space.store_directory)}
    look = (
        "import sys; from session_memory.__main__ import main; main([]); "
        "print(*sys.modules, sep='\\n', file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", look], env=environ, capture_output=True, text=True, check=True
    )
    assert "plain,shop" in done.stdout.splitlines()
    loaded = done.stderr.split()
    assert [name for name in loaded if name.startswith(HEAVY)] == []
