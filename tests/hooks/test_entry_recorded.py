"""Every payload that genuine clients sent to a recorder becomes the record it should."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.hooks.hook_process import noted, without_instance

from session_memory.core.spool import SpoolRecord, decode
from session_memory.hooks import entry

# Record field to payload key, as each client spells it; what a payload lacks, the record lacks.
SNAKE = {
    "session": "session_id",
    "agent": "agent_id",
    "transcript": "transcript_path",
    "agent_transcript": "agent_transcript_path",
    "cwd": "cwd",
    "source": "source",
    "reason": "reason",
    "trigger": "trigger",
    "model": "model",
    "turn": "prompt_id",
    "time": "timestamp",
}
TABLE: dict[str, dict[str, str]] = {
    "claude": SNAKE,
    "codex": SNAKE | {"turn": "turn_id"},
    "notify": {"session": "thread-id", "turn": "turn-id", "cwd": "cwd", "client": "client"},
    "gemini": SNAKE,
    "qwen": SNAKE,
    "grok": {
        "session": "sessionId",
        "agent": "subagentId",
        "transcript": "transcriptPath",
        "cwd": "cwd",
        "source": "source",
        "reason": "reason",
        "turn": "promptId",
        "time": "timestamp",
    },
    "copilot": {
        "session": "sessionId",
        "agent": "agentId",
        "parent": "parentAgentId",
        "transcript": "transcriptPath",
        "cwd": "cwd",
        "source": "source",
        "reason": "reason",
        "trigger": "trigger",
        "time": "timestamp",
    },
}
EVENTS = {
    "notify": "agent_turn_complete",
    "SessionStart": "session_start",
    "sessionStart": "session_start",
    "SessionEnd": "session_end",
    "sessionEnd": "session_end",
    "UserPromptSubmit": "user_prompt_submit",
    "userPromptSubmitted": "user_prompt_submitted",
    "PreToolUse": "pre_tool_use",
    "preToolUse": "pre_tool_use",
    "PostToolUse": "post_tool_use",
    "postToolUse": "post_tool_use",
    "PostToolUseFailure": "post_tool_use_failure",
    "Stop": "stop",
    "agentStop": "agent_stop",
    "SubagentStart": "subagent_start",
    "SubagentStop": "subagent_stop",
    "subagentStop": "subagent_stop",
    "PreCompact": "pre_compact",
    "preCompact": "pre_compact",
    "PostCompact": "post_compact",
    "PreCompress": "pre_compress",
    "InstructionsLoaded": "instructions_loaded",
    "BeforeAgent": "before_agent",
    "AfterAgent": "after_agent",
    "BeforeTool": "before_tool",
    "AfterTool": "after_tool",
}


class Recorded(NamedTuple):
    """One call of a hook as the recorder saw it."""

    client: str
    label: str
    payload: dict[str, Any]
    environ: dict[str, str]


def recordings(shared: Path) -> Iterator[Recorded]:
    for path in sorted((shared / "client-logs").glob("*/hooks/*.json")):
        call = json.loads(path.read_text(encoding="utf-8"))
        yield Recorded(path.parts[-3], call["label"], call["payload"], call["env"])


def is_false(call: Recorded) -> bool:
    """The false alarms of formats/real-clients.md, told by the payloads alone."""
    if call.client == "grok":
        ended_twice = call.label == "Stop" and call.payload["reason"] == "shutdown"
        return ended_twice or (call.label == "SessionEnd" and "subagentType" in call.payload)
    return call.label == "SubagentStop" and call.payload["agent_type"] == ""


def expected(call: Recorded) -> dict[str, Any] | None:
    if is_false(call):
        return None
    names = TABLE["notify" if call.label == "notify" else call.client]
    fields = {field: call.payload[key] for field, key in names.items() if call.payload.get(key)}
    if call.client == "copilot" and "stopReason" in call.payload:
        fields["reason"] = call.payload["stopReason"]
    return {"flavor": call.client, "event": EVENTS[call.label], **fields}


@pytest.mark.shared
@pytest.mark.rows("HOK-01", "HOK-09")
def test_every_recorded_payload_becomes_exactly_its_record(shared: Path) -> None:
    calls = list(recordings(shared))
    assert {call.client for call in calls} >= set(TABLE) - {"notify"}
    for call in calls:
        for environ in (call.environ, {}):  # the payload alone must do, too
            record = entry.make_record([call.label], call.payload, environ)
            shown = without_instance(dict(record)) if record else None
            assert shown == expected(call), call
    assert sum(is_false(call) for call in calls) >= 8


@pytest.mark.shared
def test_one_of_each_recorded_shape_goes_through_the_process(shared: Path) -> None:
    shapes = {(call.client, call.label, *sorted(call.payload)): call for call in recordings(shared)}
    chosen = list(shapes.values())
    assert len(chosen) > 60
    for call in chosen:
        if call.label == "notify":
            found = noted("notify", json.dumps(call.payload), payload=b"")
        else:
            found = noted(call.label, payload=call.payload)
        # Tools are many: without a guard that speaks they leave no record.
        is_tool = EVENTS.get(call.label) in ("pre_tool_use", "before_tool", "after_tool")
        assert found == (None if is_tool else expected(call)), call


@pytest.mark.shared
def test_opencode_events_are_kept_where_they_end_something(shared: Path) -> None:
    rows = (shared / "client-logs/opencode/hooks/plugin-events.jsonl").read_text("utf-8")
    kept: list[dict[str, Any]] = []
    for row in map(json.loads, rows.splitlines()):
        if row["label"].startswith("event:"):
            record = entry.make_record([], row["data"], {})
            kept += [record] if record else []
    assert {record["event"] for record in kept} == {"session_created", "session_idle"}
    assert {record["flavor"] for record in kept} == {"opencode"}
    assert len(kept) == 7
    assert all(record["session"].startswith("ses_") for record in kept)
    assert all("cwd" in r for r in kept if r["event"] == "session_created")


@pytest.mark.shared
def test_no_recorded_text_reaches_a_record(shared: Path) -> None:
    free = ("prompt", "initialPrompt", "last_assistant_message", "lastAssistantMessage", "error")
    for call in recordings(shared):
        record = entry.make_record([call.label], call.payload, call.environ)
        line = json.dumps(record)
        texts = [str(call.payload[key]) for key in free if call.payload.get(key)]
        assert not [text for text in texts if json.dumps(text)[1:-1] in line]
        assert record is None or isinstance(decode(line.encode()), SpoolRecord)
