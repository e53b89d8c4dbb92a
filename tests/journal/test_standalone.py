"""The flush as a program of its own: real processes, and no word but in the log."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from tests.hooks.hook_process import Ran, run_hook, spooled
from tests.memory.shell import calls, stand_in

from session_memory.adapters.claude.log_builder import ClaudeLog, text_block
from session_memory.clock import local_date, now_ms
from session_memory.journal import daily, standalone
from session_memory.journal.files import save_json
from session_memory.journal.flush import GUARD, guard
from session_memory.journal.paths import JournalPaths, journal_paths
from session_memory.journal.standalone import spawn
from session_memory.journal.state import iso_local
from session_memory.model.marks import MARKS
from session_memory.store import open_store
from session_memory.testing.model_server import ModelServer, Play
from session_memory.testing.workspace import Workspace

CONTEXT = (
    "**User:** decide how to indent\n\n"
    "**Assistant:** Decision: we indent with tabs, because the linter wants them.\n"
)
WATCHED = """
import builtins, os, sys
real = builtins.__import__
def watching(name, *rest, **more):
    if name.startswith(("session_memory.model.open", "subprocess", "claude_agent_sdk")):
        sys.stderr.write(os.environ.get("CLAUDE_INVOKED_BY", "unset") + "\\n")
    return real(name, *rest, **more)
builtins.__import__ = watching
sys.argv = ["flush", *sys.argv[1:]]
import runpy
runpy.run_module("session_memory.journal.flush", run_name="__main__")
"""
# The same program, but a model that failed is asked again at once.
IMPATIENT = """
import runpy, sys, time
time.sleep = lambda seconds: None
sys.argv = ["flush", *sys.argv[1:]]
runpy.run_module("session_memory.journal.flush", run_name="__main__")
"""


def project(home: Path) -> Path:
    root = home / "code" / "shop"
    (root / ".git").mkdir(parents=True)
    return root


def flush(
    root: Path, *arguments: str, program: tuple[str, str] = ("-m", "session_memory.journal.flush")
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *program, *arguments],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def journal(root: Path) -> JournalPaths:
    data = Path(os.environ["SESSION_MEMORY_HOME"]) / "data"
    return journal_paths(data, os.path.realpath(root))


def said(root: Path) -> list[daily.Entry]:
    return [
        entry for path in daily.days(journal(root)) for entry in daily.entries(path.read_text())
    ]


@pytest.mark.rows("FLU-01")
def test_what_a_flush_starts_sees_the_marker_and_hooks_then_do_nothing(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = tmp_path / "context.md"
    context.write_text(CONTEXT)
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(context), "s1"],
        cwd=project(home),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0
    seen = set(done.stderr.split())
    assert seen == {"memory_flush"}, "imported before the marker was set"
    for name in GUARD:
        monkeypatch.delenv(name, raising=False)
    guard()
    program = "import os; print(os.environ['CLAUDE_INVOKED_BY'])"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert shown.stdout.strip() == b"memory_flush"
    for name in GUARD:
        monkeypatch.delenv(name)
    for event in ("SessionStart", "SessionEnd", "PreCompact", "Stop"):
        payload = {"session_id": "s1", "hook_event_name": event, "cwd": str(tmp_path)}
        assert run_hook(event, "claude", payload=payload, **GUARD) == Ran(0, b"", b"")
    assert spooled() == []
    assert MARKS == GUARD, "agents run by the model port see the same"


@pytest.mark.rows("FLU-02")
@pytest.mark.parametrize("arguments", [(), ("context.md",)])
def test_too_few_arguments_are_an_error_in_the_log(home: Path, arguments: tuple[str, ...]) -> None:
    root = project(home)
    done = flush(root, *arguments)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    assert "ERROR Usage: " in journal(root).flush_log.read_text()


@pytest.mark.rows("FLU-03")
def test_a_missing_context_ends_well(home: Path) -> None:
    root = project(home)
    done = flush(root, "gone.md", "s1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert not journal(root).flushed.exists()


@pytest.mark.rows("FLU-25")
def test_only_the_log_speaks(home: Path, tmp_path: Path) -> None:
    root = project(home)
    context = tmp_path / "context.md"
    context.write_text(CONTEXT)
    done = flush(root, str(context), "s1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    lines = [line[20:] for line in journal(root).flush_log.read_text().splitlines()]
    assert lines[0] == f"INFO flush started for session s1, context: {context}"
    assert lines[1] == f"INFO Flushing session s1: {len(CONTEXT)} chars"
    assert lines[2].startswith("INFO Result: saved to daily log (")
    assert lines[-1] == "INFO Flush complete for session s1"
    assert not context.exists()


def test_without_store_and_model_the_context_itself_is_distilled(
    home: Path, tmp_path: Path
) -> None:
    root = project(home)
    context = tmp_path / "context.md"
    context.write_text(CONTEXT)
    flush(root, str(context), "s1")
    (entry,) = said(root)
    assert "**Decisions Made:**" in entry.content and "indent with tabs" in entry.content
    context.write_text("**User:** hi\n\n**Assistant:** hello\n")
    flush(root, str(context), "s2")
    assert [entry.content for entry in said(root)][-1] == daily.NOTHING


@pytest.mark.rows("HOK-04")
def test_a_transcript_is_read_and_left_as_it_is(home: Path, tmp_path: Path) -> None:
    root = project(home)
    log = ClaudeLog(1, cwd=str(root))
    log.prompt("decide how to indent")
    log.run("hidden-command", "hidden output")
    log.reply(text_block("Decision: we indent with tabs, because the linter wants them."))
    transcript = log.write(tmp_path / "claude")
    before = transcript.read_bytes()
    for _ in range(2):
        done = flush(root, str(transcript), log.session_id)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert transcript.read_bytes() == before
    (entry,) = said(root)
    assert "indent with tabs" in entry.content and "hidden" not in entry.content
    assert list(journal(root).excerpts.iterdir()) == []


def test_with_a_store_the_entry_tells_what_it_knows(home: Path, tmp_path: Path) -> None:
    space = Workspace(tmp_path / "space", store="data")
    root = project(home)
    log = ClaudeLog(1, cwd=str(root))
    log.prompt("make the parser faster")
    log.reply(text_block("Decision: cache the tokens, since the lexer is slow.\nTODO: measure it"))
    space.write(log)
    space.store_directory = Path(os.environ["SESSION_MEMORY_HOME"]) / "data"
    space.sweep()
    context = tmp_path / "context.md"
    context.write_text("**User:** make the parser faster\n")
    assert flush(root, str(context), log.session_id).returncode == 0
    (entry,) = said(root)
    assert entry.content.startswith("**Context:** make the parser faster (outcome: ")
    assert "cache the tokens" in entry.content
    context.write_text("**User:** make the parser faster, again\n")
    flush(root, str(context), log.session_id)
    assert said(root)[-1].content == daily.NOTHING, "told before, so nothing new"


@pytest.mark.rows("FLU-31")
def test_a_flush_starts_a_compile_that_makes_its_articles(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project(home)
    monkeypatch.chdir(root)
    started: list[subprocess.Popen[bytes]] = []

    def starting(command: list[str], where: JournalPaths) -> subprocess.Popen[bytes]:
        started.append(spawn(command, where))
        return started[-1]

    monkeypatch.setattr(standalone, "spawn", starting)
    context = tmp_path / "context.md"
    context.write_text(CONTEXT.replace("wants them", "wants them and mixed ones cost us two days"))
    assert standalone.run([str(context), "s1"]) == 0
    (compile_process,) = started
    assert compile_process.wait(120) == 0
    assert journal(root).state.exists()
    assert "1 created" in journal(root).compile_log.read_text()
    assert len(list((journal(root).knowledge / "concepts").iterdir())) == 1


def with_model(
    root: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch, **settings: str
) -> None:
    """A store, without which no model is asked, and a server as the model."""
    data = Path(os.environ["SESSION_MEMORY_HOME"]) / "data"
    open_store(str(data), 0, create_missing=True).close()
    for name, value in {
        "MODEL_PROVIDER": "anthropic",
        "MODEL_BASE_URL": server.url,
        "JOURNAL_ATTEMPTS": "1",
        "JOURNAL_RETRY_SECONDS": "1",
        **settings,
    }.items():
        monkeypatch.setenv(f"SESSION_MEMORY_{name}", value)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    put_off_compiling(root)


def put_off_compiling(root: Path) -> None:
    """Say that it was just done: a compile would run next to the test and ask the model, too."""
    now = now_ms()
    days = {local_date(now), local_date(now + 3_600_000)}
    compiled = {f"{day}.md": {"compiled_at": iso_local(now)} for day in days}
    journal(root).state.parent.mkdir(parents=True)
    save_json(journal(root).state, {"ingested": compiled})


@pytest.mark.rows("FLU-13", "FLU-37")
def test_a_failed_flush_ends_with_0_keeps_the_context_and_touches_nothing(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project(home)
    context = tmp_path / "context.md"
    context.write_text(CONTEXT)
    with ModelServer([Play("broken"), Play(text="**Context:** tabs")]) as server:
        with_model(root, server, monkeypatch)
        done = flush(root, str(context), "s1")
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        there = journal(root)
        assert context.read_text() == CONTEXT and not there.flushed.exists()
        assert said(root) == [] and not there.compile_log.exists()
        (line,) = [line for line in there.flush_log.read_text().splitlines() if "kept" in line]
        assert f"ERROR Flush failed for session s1, context kept: {context}: FLUSH_ERROR: " in line
        assert "Flush complete" not in there.flush_log.read_text()
        flush(root, str(context), "s1")  # at once: nothing of the first counts as a flush
    assert [entry.content for entry in said(root)] == ["**Context:** tabs"]
    assert not context.exists() and there.flushed.exists()


@pytest.mark.rows("FLU-10")
def test_text_before_an_error_is_not_in_the_entry_of_the_next_attempt(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = project(home)
    context = tmp_path / "context.md"
    context.write_text(CONTEXT)
    plays = [Play("error_event", "LEAKED once"), Play("cut", "LEAKED twice"), Play(text="whole")]
    with ModelServer(plays) as server:
        with_model(root, server, monkeypatch, JOURNAL_ATTEMPTS="3")
        flush(root, str(context), "s1", program=("-c", IMPATIENT))
    assert len(server.requests) == 3
    assert not journal(root).compile_log.exists()
    assert [entry.content for entry in said(root)] == ["whole"]
    assert all("LEAKED" not in path.read_text() for path in daily.days(journal(root)))


@pytest.mark.rows("FLU-15")
@pytest.mark.parametrize(("name", "model"), [("", "claude-haiku-4-5"), ("claude-x", "claude-x")])
def test_a_command_that_is_asked_gets_no_tools_two_turns_and_the_root(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, model: str
) -> None:
    root = project(home)
    context = tmp_path / "context.md"
    context.write_text(CONTEXT)
    log = stand_in(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    with ModelServer([Play()]) as server:
        with_model(root, server, monkeypatch, MODEL_PROVIDER="claude_cli", MODEL_NAME=name)
        flush(root, str(context), "s1")
        assert server.requests == []
    ((_, cwd, arguments),) = calls(log)
    assert cwd == os.path.realpath(journal(root).root)
    given = dict(pairwise(arguments))
    assert (given["--tools"], given["--max-turns"], given["--model"]) == ("", "2", model)
