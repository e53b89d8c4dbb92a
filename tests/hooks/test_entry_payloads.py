"""Payloads of every client, each in its own spelling, become records; false alarms do not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.hooks.hook_process import log, noted, run_hook, spooled, state

from session_memory.core.spool import SpoolRecord, decode

ID = "0f9d7c1e-1111-4222-8333-444455556666"
SECRET = "the-prompt-nobody-may-keep"
HOME = "/home/dev"
BASE = {"session_id": ID, "cwd": "/home/dev/proj"}
FREE = {"prompt": SECRET, "last_assistant_message": SECRET, "tool_input": {"command": SECRET}}

CLAUDE = {**BASE, "transcript_path": f"{HOME}/.claude/projects/-home-dev-proj/{ID}.jsonl"}
CODEX = {**BASE, "transcript_path": f"{HOME}/.codex/sessions/2026/11/15/rollout-2026-{ID}.jsonl"}
GEMINI = {**BASE, "transcript_path": f"{HOME}/.gemini/tmp/proj/chats/session-2026-0f9d7c1e.jsonl"}
QWEN = {**BASE, "transcript_path": f"{HOME}/.qwen/projects/-home-dev-proj/chats/{ID}.jsonl"}
GROK_FILE = f"{HOME}/.grok/sessions/%2Fhome%2Fdev%2Fproj/{ID}/updates.jsonl"
GROK = {"sessionId": ID, "session_id": ID, "cwd": "/home/dev/proj", "transcriptPath": GROK_FILE}
COPILOT_FILE = f"{HOME}/.copilot/session-state/{ID}/events.jsonl"
COPILOT = {"sessionId": ID, "timestamp": 1794771675929, "cwd": "/home/dev/proj"}

CASES: list[tuple[list[str], dict[str, Any], dict[str, Any]]] = [
    (
        ["SessionEnd"],
        {**CLAUDE, "hook_event_name": "SessionEnd", "reason": "other", "prompt_id": "p1"},
        {"flavor": "claude", "event": "session_end", "reason": "other", "turn": "p1"},
    ),
    (
        ["SubagentStop"],
        {
            **CLAUDE,
            "hook_event_name": "SubagentStop",
            "agent_id": "a1",
            "agent_type": "general-purpose",
            "agent_transcript_path": f"{HOME}/.claude/projects/p/{ID}/subagents/agent-a1.jsonl",
        },
        {
            "flavor": "claude",
            "event": "subagent_stop",
            "agent": "a1",
            "agent_transcript": f"{HOME}/.claude/projects/p/{ID}/subagents/agent-a1.jsonl",
        },
    ),
    (
        ["Stop"],
        {**CODEX, "hook_event_name": "Stop", "turn_id": "t1", "model": "gpt-5.1-codex"},
        {"flavor": "codex", "event": "stop", "turn": "t1", "model": "gpt-5.1-codex"},
    ),
    (
        ["SessionStart"],
        {**GROK, "hookEventName": "session_start", "hook_event_name": "SessionStart"},
        {"flavor": "grok", "event": "session_start", "transcript": GROK_FILE},
    ),
    (
        ["AfterAgent"],
        {**GEMINI, "hook_event_name": "AfterAgent", "timestamp": "2026-11-15T19:50:09.988Z"},
        {"flavor": "gemini", "event": "after_agent", "time": "2026-11-15T19:50:09.988Z"},
    ),
    (
        ["PreCompact"],
        {**QWEN, "hook_event_name": "PreCompact", "trigger": "manual", "prompt_id": f"{ID}####2"},
        {"flavor": "qwen", "event": "pre_compact", "trigger": "manual", "turn": f"{ID}####2"},
    ),
    (
        ["agentStop"],
        {**COPILOT, "transcriptPath": COPILOT_FILE, "stopReason": "end_turn"},
        {"flavor": "copilot", "event": "agent_stop", "reason": "end_turn", "time": 1794771675929},
    ),
    (
        ["subagentStop"],
        {**COPILOT, "agentId": "child", "parentAgentId": ID, "response": SECRET},
        {"flavor": "copilot", "event": "subagent_stop", "agent": "child", "parent": ID},
    ),
    (
        [],
        {
            "type": "session.created",
            "properties": {"sessionID": ID, "info": {"directory": "/home/dev/proj", "id": "x"}},
        },
        {"flavor": "opencode", "event": "session_created"},
    ),
    (
        ["session.idle"],
        {"sessionID": ID, "directory": "/home/dev/proj"},
        {"flavor": "opencode", "event": "session_idle"},
    ),
]


@pytest.mark.rows("HOK-01")
@pytest.mark.parametrize(("arguments", "payload", "expected"), CASES)
def test_each_client_becomes_the_same_kind_of_record(
    arguments: list[str], payload: dict[str, Any], expected: dict[str, Any]
) -> None:
    record = noted(*arguments, payload={**payload, **FREE})
    assert record is not None
    path = payload.get("transcript_path") or payload.get("transcriptPath")
    common = {"session": ID, "cwd": "/home/dev/proj", **({"transcript": path} if path else {})}
    time = {"time": payload["timestamp"]} if "timestamp" in payload else {}
    assert record == {**common, **time, **expected}
    (file,) = (state() / "spool").iterdir()
    assert SECRET not in file.read_text()
    assert isinstance(decode(file.read_bytes()), SpoolRecord)


@pytest.mark.rows("IDN-08")
@pytest.mark.parametrize("names", [("thread-id", "turn-id"), ("thread_id", "turn_id")])
@pytest.mark.parametrize("way", ["argument", "stdin"])
def test_notify_takes_both_spellings_and_both_ways_in(names: tuple[str, str], way: str) -> None:
    payload = {
        "type": "agent-turn-complete",
        names[0]: ID,
        names[1]: "t1",
        "cwd": "/home/dev/proj",
        "client": "codex_exec",
        "input-messages": [SECRET],
        "last-assistant-message": SECRET,
    }
    expected = {
        "flavor": "codex",
        "event": "agent_turn_complete",
        "session": ID,
        "turn": "t1",
        "cwd": "/home/dev/proj",
        "client": "codex_exec",
    }
    if way == "argument":
        assert noted("notify", json.dumps(payload), payload=b"") == expected
    else:
        assert noted("notify", payload=payload) == expected


@pytest.mark.rows("IDN-08")
@pytest.mark.parametrize("kind", ["approval-requested", "", None, 7])
def test_notify_of_another_type_leaves_no_record(kind: object) -> None:
    payload = {"type": kind, "thread-id": ID}
    assert noted("notify", json.dumps(payload), payload=b"") is None
    assert noted("notify", payload=payload) is None
    assert noted("notify", payload={"thread-id": ID}) is None


@pytest.mark.rows("IDN-08", "HOK-06")
@pytest.mark.parametrize("event", ["notify", "SessionEnd", "Stop"])
@pytest.mark.parametrize("payload", [b"", b" \n", b"{}", b'{"cwd": "/home/dev"}'])
def test_nothing_to_go_by_leaves_no_record(event: str, payload: bytes) -> None:
    assert noted(event, payload=payload) is None
    assert not (state() / "spool").exists()


@pytest.mark.rows("HOK-06")
@pytest.mark.parametrize("missing", ["session_id", "transcript_path"])
def test_an_id_or_a_path_is_enough_even_if_the_file_is_not_there(missing: str) -> None:
    payload = {key: value for key, value in CLAUDE.items() if key != missing}
    record = noted("SessionEnd", payload={**payload, "hook_event_name": "SessionEnd"})
    assert record is not None
    assert ("session" in record, "transcript" in record).count(True) == 1


FALSE_ALARMS: list[tuple[str, dict[str, Any]]] = [
    ("Stop", {**GROK, "hookEventName": "stop", "reason": "shutdown"}),
    ("SessionEnd", {**GROK, "hookEventName": "session_end", "subagentType": "general-purpose"}),
    ("SubagentStop", {**CLAUDE, "hook_event_name": "SubagentStop", "agent_type": ""}),
    ("", {"type": "message.part.updated", "properties": {"sessionID": ID, "text": SECRET}}),
]


@pytest.mark.parametrize(("event", "payload"), FALSE_ALARMS)
def test_false_alarms_leave_no_record(event: str, payload: dict[str, Any]) -> None:
    assert noted(*([event] if event else []), payload=payload) is None


def test_the_true_ones_beside_the_false_alarms_are_kept() -> None:
    stop = {**GROK, "hookEventName": "stop", "reason": "end_turn"}
    end = {**GROK, "hookEventName": "session_end", "reason": "shutdown"}
    child = {**CLAUDE, "hook_event_name": "SubagentStop", "agent_type": "Explore"}
    for event, payload in (("Stop", stop), ("SessionEnd", end), ("SubagentStop", child)):
        assert noted(event, payload=payload) is not None


def test_claudes_hook_run_by_grok_is_groks() -> None:
    old = {"hookEventName": "session_end", "cwd": "/home/dev/proj"}
    record = noted("SessionEnd", "claude", payload=old, GROK_SESSION_ID=ID)
    assert record is not None and (record["flavor"], record["session"]) == ("grok", ID)
    snake = {**BASE, "hook_event_name": "SessionEnd"}
    record = noted("SessionEnd", "claude", payload=snake, GROK_SESSION_ID=ID)
    assert record is not None and record["flavor"] == "grok"


def test_an_agent_started_inside_another_is_itself() -> None:
    outer = {"GROK_SESSION_ID": "outer", "CLAUDE_CODE_SESSION_ID": "outer", "CLAUDECODE": "1"}
    for payload, flavor in ((CLAUDE, "claude"), (CODEX, "codex"), (QWEN, "qwen")):
        record = noted("Stop", payload={**payload, "hook_event_name": "Stop"}, **outer)
        assert record is not None and record["flavor"] == flavor


def test_a_moved_home_is_told_by_the_session_variable_or_the_hint() -> None:
    payload = {**BASE, "hook_event_name": "Stop", "transcript_path": "/elsewhere/x.jsonl"}
    record = noted("Stop", payload=payload, QWEN_CODE_SESSION_ID=ID, CLAUDECODE="1")
    assert record is not None and record["flavor"] == "qwen"
    record = noted("Stop", "claude", payload=payload)
    assert record is not None and record["flavor"] == "claude"
    record = noted("Stop", payload=payload)
    assert record is not None and record["flavor"] == "unknown"


def test_an_empty_session_is_nobodys() -> None:
    payload = {"session_id": "", "transcript_path": "/elsewhere/x.jsonl"}
    record = noted("Stop", payload=payload, QWEN_CODE_SESSION_ID="", GEMINI_SESSION_ID="")
    assert record is not None and record["flavor"] == "unknown" and "session" not in record


def test_strings_are_bounded_and_clean() -> None:
    record = noted(
        "SessionEnd",
        payload={
            "session_id": "id\u0007-\u009b1\ud800",
            "agent_id": "x" * 201,
            "transcript_path": "/p/" + "y" * 4096,
            "cwd": "/home/dev/a\nb\u2028",
            "reason": "because the user said so",
            "source": "z" * 65,
            "trigger": ["manual"],
            "timestamp": True,
        },
    )
    assert record == {
        "flavor": "unknown",
        "event": "session_end",
        "session": "id-1",
        "cwd": "/home/dev/ab",
    }


@pytest.mark.parametrize("value", ["1", "yes"])
def test_our_own_model_calls_are_not_noted(value: str) -> None:
    payload = {**CLAUDE, "hook_event_name": "SessionEnd"}
    assert noted("SessionEnd", payload=payload, SESSION_MEMORY_INTERNAL=value) is None
    assert not state().exists()
    assert noted("SessionEnd", payload=payload, SESSION_MEMORY_INTERNAL="0") is not None


@pytest.mark.rows("FLU-01")
@pytest.mark.parametrize("event", ["SessionStart", "SessionEnd", "PreCompact", "Stop"])
def test_hooks_of_an_agent_that_a_flush_runs_do_nothing(event: str) -> None:
    payload = {**CLAUDE, "hook_event_name": event}
    ran = run_hook(event, payload=payload, CLAUDE_INVOKED_BY="memory_flush")
    assert (ran.code, ran.out) == (0, b"")
    assert not state().exists()


def test_records_have_a_version_a_time_and_an_id_that_rises() -> None:
    for _ in range(3):
        assert run_hook("Stop", payload={**CLAUDE, "hook_event_name": "Stop"}).code == 0
    records = spooled()
    assert [record["v"] for record in records] == [1, 1, 1]
    assert records == sorted(records, key=lambda record: record["at"])
    assert len({record["id"] for record in records}) == 3
    assert log() == ""
