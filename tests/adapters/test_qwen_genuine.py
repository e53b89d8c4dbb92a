"""The adapter against genuine Qwen Code sessions, beside counts that know no adapter."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.gemini_reading import parse_home, part_of

from session_memory.adapters.qwen.reader import ADAPTER
from session_memory.testing.workspace import Workspace


def home(shared: Path) -> Path:
    return shared / "client-logs" / "qwen" / "home" / ".qwen"


def steps(shared: Path) -> dict[str, dict[str, Any]]:
    """What the client printed last in each run, its result; long beginnings are cut off."""
    rows = json.loads((shared / "client-logs" / "qwen" / "steps.json").read_text())
    printed = {row["name"]: row["stdout"].strip().removesuffix("]") for row in rows}
    return {
        name: json.loads(out[out.rindex('{"type":"result"') :]) for name, out in printed.items()
    }


def swept(shared: Path, tmp_path: Path) -> Workspace:
    space = Workspace(tmp_path)
    space.paths["qwen"] = (str(home(shared)),)
    report = space.sweep()
    assert (report.failed, report.unknown, report.parse_errors) == ([], {}, 0)
    return space


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.mark.shared
def test_every_genuine_record_is_understood(shared: Path) -> None:
    found = parse_home(ADAPTER, home(shared))
    assert len(found) == 4
    for path, bundle in found.items():
        rows = rows_of(path)
        assert bundle.records == len(rows), path
        assert not (bundle.parse_errors or bundle.incomplete_tail or bundle.unknown), path
        events = part_of(bundle).events
        positions = [event.pos for event in events]
        assert positions == sorted(set(positions)), path
        parts = [p for row in rows for p in row.get("message", {}).get("parts", [])]
        kinds = Counter(event.kind for event in events)
        assert kinds["tool_call"] == sum("functionCall" in part for part in parts), path
        assert kinds["tool_result"] == sum("functionResponse" in part for part in parts), path
        calls = {event.call_id for event in events if event.kind == "tool_call"}
        assert calls == {e.call_id for e in events if e.kind == "tool_result"}, path


@pytest.mark.shared
def test_tokens_are_what_a_plain_count_and_the_client_say(shared: Path, tmp_path: Path) -> None:
    space = swept(shared, tmp_path)
    last = {step["session_id"]: step for step in steps(shared).values()}  # figures grow by resumes
    assert len(last) == 3
    for session, step in last.items():
        by_source = step["stats"]["models"]["fake-model"]["bySource"]
        cost = space.session(session).cost
        assert cost.total_tokens == by_source["main"]["tokens"]["total"]
        assert cost.cache_read == by_source["main"]["tokens"]["cached"]
        if "general-purpose" in by_source:
            (child,) = [s for s in space.sessions().values() if s.parent_external_id == session]
            wanted = by_source["general-purpose"]["tokens"]["total"]
            assert child.cost.total_tokens == wanted
    plain = 0
    for path in home(shared).rglob("*.jsonl"):
        for row in rows_of(path):
            event = row.get("systemPayload", {}).get("uiEvent", {})
            plain += event.get("total_token_count", 0)  # the parent's log has the sub-agents' too
    assert sum(s.cost.total_tokens for s in space.sessions().values()) == plain


@pytest.mark.shared
def test_the_failing_command_its_fix_and_the_resume_are_told(shared: Path, tmp_path: Path) -> None:
    space, printed = swept(shared, tmp_path), steps(shared)
    session = printed["work"]["session_id"]
    assert printed["resume"]["session_id"] == session
    digest = space.digest(session)
    assert digest is not None
    assert [(run.exit, run.is_error) for run in digest.commands] == [
        (1, True),
        (0, False),
        (0, False),
    ]
    assert digest.outcome == "success"
    assert {Path(name).name for name in digest.files} == {"calc.py", "test_calc.py"}
    events = space.events(session)
    said = [event.text or "" for event in events if event.kind == "assistant_text"]
    assert printed["work"]["result"] in said
    assert said[-1] == printed["resume"]["result"]
    prompts = [event.text or "" for event in events if event.kind == "user_prompt"]
    assert [prompt.split()[-1] for prompt in prompts] == ["calculator", "again"]
    found = space.session(session)
    assert (found.cwd, found.client_version) == (
        "/home/dev/agent-client-runs/qwen/proj",
        "0.24.4",
    )


@pytest.mark.shared
def test_sub_agent_compression_and_mcp_are_told(shared: Path, tmp_path: Path) -> None:
    space, printed = swept(shared, tmp_path), steps(shared)
    parent = printed["agent"]["session_id"]
    (child,) = [s for s in space.sessions().values() if s.source_kind == "subagent"]
    assert (child.parent_external_id, child.label) == (parent, "general-purpose")
    assert not [e for e in space.events(child.external_id) if e.kind == "user_prompt"]
    digest = space.digest(parent)
    assert digest is not None
    assert digest.compactions == 1
    events = space.events(printed["mcp"]["session_id"])
    results = {event.call_id: event for event in events if event.kind == "tool_result"}
    calls = [event for event in events if event.tool_class == "mcp"]
    assert len(calls) == 5
    failed = [call.tool for call in calls if results[call.call_id].is_error]
    assert failed == ["mcp__memprobe__mem_error"]
