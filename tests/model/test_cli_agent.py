"""The user's own agent as a model, with stand-in commands that record how they were called."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from session_memory import settings
from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.core.text.own_text import PACK_END, without_own_text
from session_memory.errors import ModelUnavailable
from session_memory.model.cli_agent import open_agent
from session_memory.model.failures import CallFailed
from session_memory.model.marks import environment, fenced
from session_memory.model.port import Provider, Request
from session_memory.store.port import ObservationQuery
from session_memory.testing.workspace import Workspace

REQUEST = Request("test", "be terse", "what is it?", timeout_s=30, max_output_tokens=77)
STAND_IN = """#!{python}
import json, os, subprocess, sys, time
prompt = sys.stdin.read()
record = dict(args=sys.argv[1:], env=dict(os.environ), cwd=os.getcwd(), prompt=prompt)
json.dump(record, open({record!r}, "w"))
{body}
"""
RESULT: dict[str, Any] = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "it is a test",
    "total_cost_usd": 0.0021,
    "usage": {"input_tokens": 10},
    "modelUsage": {
        "claude-haiku-4-5": {
            "inputTokens": 100,
            "outputTokens": 50,
            "cacheReadInputTokens": 20,
            "cacheCreationInputTokens": 5,
            "costUSD": 0.002,
        },
        "small": {"inputTokens": 3, "outputTokens": 1},
    },
}
EVENTS = [
    {"type": "thread.started", "thread_id": "t"},
    {"type": "item.completed", "item": {"id": "0", "type": "reasoning", "text": "hm"}},
    {"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": "wait"}},
    {"type": "item.completed", "item": {"id": "2", "type": "agent_message", "text": "a test"}},
    {
        "type": "turn.completed",
        "usage": {"input_tokens": 120, "cached_input_tokens": 20, "output_tokens": 9},
    },
]


class Stage:
    """A folder on the PATH that holds a stand-in for one of the two commands."""

    def __init__(self, root: Path) -> None:
        self.bin = root / "bin"
        self.bin.mkdir()
        self.record = root / "record.json"
        self.home = root / "home"
        (self.home / ".codex").mkdir(parents=True)

    def agent(self, command: str, body: str, **environ: str) -> Provider:
        """The provider on top of a stand-in that ends with `body`."""
        path = self.bin / command
        script = STAND_IN.format(python=sys.executable, record=str(self.record), body=body)
        path.write_text(script)
        path.chmod(0o755)
        config = settings.Model(provider=f"{command}_cli")
        return open_agent(config, {"PATH": str(self.bin), "HOME": str(self.home), **environ})

    def claude(self, body: str = f"print({json.dumps(RESULT)!r})", **environ: str) -> Provider:
        return self.agent("claude", body, **environ)

    def codex(self, events: list[Any] | None = None, **environ: str) -> Provider:
        lines = "\n".join(json.dumps(event) for event in (EVENTS if events is None else events))
        return self.agent("codex", f"print({lines!r})", **environ)

    @property
    def called(self) -> dict[str, Any]:
        return json.loads(self.record.read_text())


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """Where stand-ins play."""
    return Stage(tmp_path)


def after(arguments: list[str], option: str) -> str:
    return arguments[arguments.index(option) + 1]


@pytest.mark.parametrize("command", ["claude", "codex"])
def test_in_a_folder_the_agent_works_there_and_nowhere_else(
    stage: Stage, tmp_path: Path, command: str
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    asked = msgspec.structs.replace(REQUEST, folder=str(folder), max_turns=9)

    (stage.claude() if command == "claude" else stage.codex()).ask(asked)

    called = stage.called
    assert called["cwd"] == str(folder)
    if command == "claude":
        assert "--restricted" in called["args"]
        assert after(called["args"], "--tools") == "Read,Edit,Write,Glob,Grep"
        assert after(called["args"], "--permission-mode") == "acceptEdits"
        assert after(called["args"], "--max-turns") == "9"
    else:
        assert after(called["args"], "--sandbox") == "workspace-write"
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("command", ["claude", "codex"])
def test_without_a_folder_the_agent_runs_in_an_empty_one_that_goes_away(
    stage: Stage, command: str
) -> None:
    (stage.claude() if command == "claude" else stage.codex()).ask(REQUEST)

    assert "session-memory-call-" in stage.called["cwd"]
    assert not Path(stage.called["cwd"]).exists()


@pytest.mark.parametrize("command", ["claude", "codex"])
def test_the_environment_is_small_and_marked(stage: Stage, command: str) -> None:
    further = {
        "DATABASE_PASSWORD": "no",
        "AWS_SECRET_ACCESS_KEY": "no",
        "CLAUDECODE": "1",
        "CLAUDE_CODE_SESSION_ID": "s",
        "HTTPS_PROXY": "http://proxy",
        "LC_ALL": "C.UTF-8",
    }
    (stage.claude(**further) if command == "claude" else stage.codex(**further)).ask(REQUEST)

    env = stage.called["env"]
    assert (env["SESSION_MEMORY_INTERNAL"], env["CLAUDE_INVOKED_BY"]) == ("1", "memory_flush")
    assert env["HTTPS_PROXY"] == "http://proxy"
    assert env["HOME"] == str(stage.home)
    for name in ("DATABASE_PASSWORD", "AWS_SECRET_ACCESS_KEY", "CLAUDECODE"):
        assert name not in env
    assert "CLAUDE_CODE_SESSION_ID" not in env


def test_the_keys_of_a_cloud_go_along_only_where_that_cloud_is_used() -> None:
    keys = {"AWS_PROFILE": "p", "CLAUDE_CODE_USE_BEDROCK": "1"}

    assert environment(keys)["AWS_PROFILE"] == "p"
    assert "AWS_PROFILE" not in environment({**keys, "CLAUDE_CODE_USE_BEDROCK": "0"})


FORK = """
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({pids!r}, "w").write(f"{{os.getpid()}} {{child.pid}}")
{then}
"""


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="watches processes as Linux does")
@pytest.mark.parametrize("then", ["time.sleep(600)", f"print({json.dumps(RESULT)!r})"])
def test_neither_the_agent_nor_what_it_started_outlives_the_call(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: str
) -> None:
    pids = tmp_path / "pids"
    model = stage.claude(FORK.format(pids=str(pids), then=then))

    class Started(subprocess.Popen[bytes]):
        """Its time is counted from when it has started a process of its own, however slowly."""

        def wait(self, timeout: float | None = None) -> int:
            while self.poll() is None and not (pids.exists() and pids.read_text()):
                time.sleep(0.005)
            return super().wait(timeout)

    if "600" in then:
        monkeypatch.setattr(subprocess, "Popen", Started)
        with pytest.raises(CallFailed) as caught:
            model.ask(msgspec.structs.replace(REQUEST, timeout_s=0.2))
        assert caught.value.kind == "timeout"
    else:
        assert model.ask(REQUEST).text == "it is a test"

    for pid in map(int, pids.read_text().split()):
        assert ends(pid)


def ends(pid: int) -> bool:
    """Whether a process has ended, or does so at once: a signal takes its moment to arrive."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], 10)[0])
    finally:
        os.close(handle)


def test_an_overloaded_agent_can_be_asked_again(stage: Stage) -> None:
    said = {**RESULT, "is_error": True, "result": "API Error: 529 overloaded"}

    with pytest.raises(CallFailed) as caught:
        stage.claude(f"print({json.dumps(said)!r})").ask(REQUEST)
    assert caught.value.transient


def test_an_agent_that_prints_rubbish_is_no_answer(stage: Stage) -> None:
    with pytest.raises(CallFailed, match="claude failed"):
        stage.claude("sys.stdout.buffer.write(b'{\\xff\\xfe')").ask(REQUEST)


def test_a_command_that_cannot_be_started_is_unavailable(stage: Stage) -> None:
    model = stage.claude()
    (stage.bin / "claude").write_text("#!/no/such/interpreter\n")

    with pytest.raises(ModelUnavailable, match="cannot be started"):
        model.ask(REQUEST)


def test_a_prompt_cannot_end_its_own_fence() -> None:
    hostile = f"before {PACK_END} after {PACK_END}"

    assert without_own_text(fenced(hostile)).strip() == ""


def test_a_session_that_a_client_kept_of_our_call_is_no_evidence(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    log = ClaudeLog(cwd=str(tmp_path / "work"))  # in a folder made for the call it stays out
    log.prompt(fenced("TODO: publish the release. Always use tabs. We decided on PostgreSQL."))
    log.say('{"traceMemory": "..."}')
    space.write(log)

    space.sweep()

    with space.store() as store:
        assert store.observations(ObservationQuery()) == []
    digest = space.digest(log.session_id)
    assert digest is not None
    assert (digest.open_items, digest.decisions) == ((), ())
