"""The adapter against the database a real OpenCode wrote, beside counts that know no adapter."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.opencode_reading import parse_source

from session_memory.adapters.opencode.reader import discover
from session_memory.core.schema import SessionEvent
from session_memory.testing.workspace import Workspace


def home(shared: Path) -> Path:
    return shared / "client-logs" / "opencode" / "home" / ".local" / "share" / "opencode"


def rows(shared: Path, query: str) -> list[dict[str, Any]]:
    """What the database says, asked without the adapter."""
    db = sqlite3.connect(f"{(home(shared) / 'opencode.db').as_uri()}?immutable=1", uri=True)
    db.row_factory = sqlite3.Row
    try:
        return [dict(row) for row in db.execute(query)]
    finally:
        db.close()


def steps(shared: Path) -> dict[str, list[dict[str, Any]]]:
    """What the client printed in each step; the beginning of a long output was not kept."""
    told = json.loads((shared / "client-logs" / "opencode" / "steps.json").read_text())
    return {step["name"]: list(_whole(step["stdout"].splitlines())) for step in told}


def _whole(lines: list[str]) -> Any:
    for line in lines:
        if line.startswith('{"type"'):
            yield json.loads(line)


def swept(shared: Path, tmp_path: Path) -> Workspace:
    space = Workspace(tmp_path)
    space.paths["opencode"] = (str(home(shared)),)
    report = space.sweep()
    assert (report.ingested, report.failed, dict(report.unknown)) == (3, [], {})
    assert (report.parse_errors, report.too_long) == (0, 0)
    return space


@pytest.mark.shared
def test_every_row_of_every_session_is_understood(shared: Path) -> None:
    found = {
        source.path.rpartition("#")[2]: parse_source(source)
        for source in discover(str(home(shared)))
    }
    assert set(found) == {row["id"] for row in rows(shared, "SELECT id FROM session")}
    held = [
        rows(shared, f"SELECT data FROM {table}")
        for table in ("session_message", "message", "part")
    ]
    assert held[0] == []
    records = sum(bundle.records for bundle in found.values())
    assert records == len(found) + len(held[1]) + len(held[2])
    texts = [json.loads(row["data"]) for row in held[2]]
    wanted = sorted(part["text"] for part in texts if part["type"] == "text")
    events = [
        event for bundle in found.values() for part in bundle.sessions for event in part.events
    ]
    spoken = ("user_prompt", "assistant_text")
    assert sorted(event.text for event in events if event.kind in spoken) == wanted
    assert all(event.at for event in events)


@pytest.mark.shared
def test_tokens_are_those_the_client_counted_itself(shared: Path, tmp_path: Path) -> None:
    space = swept(shared, tmp_path)
    for row in rows(shared, "SELECT * FROM session"):
        cost = space.session(row["id"]).cost
        assert (cost.input, cost.output) == (row["tokens_input"], row["tokens_output"])
        assert (cost.cache_read, cost.cache_write_5m) == (
            row["tokens_cache_read"],
            row["tokens_cache_write"],
        )
    messages = (json.loads(row["data"]) for row in rows(shared, "SELECT data FROM message"))
    billed = [message["tokens"]["total"] for message in messages if "tokens" in message]
    total = sum(session.cost.total_tokens for session in space.sessions().values())
    assert total == sum(billed)


@pytest.mark.shared
def test_sessions_are_what_the_steps_of_the_run_say(shared: Path, tmp_path: Path) -> None:
    space, ran = swept(shared, tmp_path), steps(shared)
    names = {step: {row["sessionID"] for row in told} for step, told in ran.items() if told}
    assert names["work"] == names["resume"]  # --continue goes on in the same session
    assert set.union(*names.values()) == set(space.sessions())
    for told in ran.values():
        for row in told:
            _check(space.events(row["sessionID"]), row)
    for session in space.sessions().values():
        assert (session.client_version, session.source_kind) == ("1.18.33", "exec")
        assert session.cwd == "/home/dev/agent-client-runs/opencode/proj"
        assert session.models == ("fake-model",)
    work = space.digest(next(iter(names["work"])))
    assert work is not None
    assert [(run.exit, run.is_error) for run in work.commands] == [
        (1, True),
        (0, False),
        (0, False),
    ]


def _check(events: list[SessionEvent], row: dict[str, Any]) -> None:
    """One printed record stands in the session, with the same result."""
    part = row["part"]
    if part["type"] == "text":
        assert part["text"] in [e.text for e in events if e.kind == "assistant_text"]
    elif part["type"] == "tool":
        state = part["state"]
        call, result = (event for event in events if event.call_id == part["callID"])
        assert json.loads(call.text or "") == state["input"]
        assert (call.tool, call.paired) == (part["tool"], True)
        assert result.text == state.get("error", state.get("output"))
        code = state.get("metadata", {}).get("exit")
        assert result.exit_code == code
        assert result.is_error == (state["status"] == "error" or bool(code))


@pytest.mark.shared
def test_mcp_tools_and_the_refused_sub_agent_are_told_apart(shared: Path, tmp_path: Path) -> None:
    space, ran = swept(shared, tmp_path), steps(shared)
    events = space.events(ran["mcp"][-1]["sessionID"])
    calls = [event for event in events if event.tool_class == "mcp"]
    results = {event.call_id: event for event in events if event.kind == "tool_result"}
    assert len(calls) == 5
    assert [c.tool for c in calls if results[c.call_id].is_error] == ["memprobe_mem_error"]
    events = space.events(ran["agent"][-1]["sessionID"])
    (task,) = [event for event in events if event.tool_class == "agent"]
    (refused,) = [e for e in events if e.kind == "tool_result" and e.call_id == task.call_id]
    assert refused.is_error
    assert refused.label is None
