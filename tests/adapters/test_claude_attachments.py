"""What Claude Code itself says in a log: notices, attachments, and records nobody knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.adapters.claude_reading import event, events, parse_log, parse_rows

from session_memory.adapters.claude.log_builder import ClaudeLog


def test_a_compaction_leaves_a_boundary_and_an_injected_summary(tmp_path: Path) -> None:
    log = ClaudeLog()
    log.compact("we fixed it", trigger="manual", before=123)
    boundary, summary = events(parse_log(log, tmp_path))
    assert (boundary.kind, boundary.text) == ("compaction", "manual compaction at 123 tokens")
    assert (summary.kind, summary.label) == ("injected", "compact_summary")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        ({"message": "long", "formatted": "529 busy"}, "API error: 529 busy (attempt 2 of 10)"),
        ({"error": {"error": {"message": "x"}}}, "API error: x (attempt 2 of 10)"),
        ({}, "API error: no detail (attempt 2 of 10)"),
    ],
)
def test_a_failed_request_is_an_error(error: Any, text: str) -> None:
    row = {**ClaudeLog().api_error("?", attempt=2), "error": error}
    found = event(parse_rows(row))
    assert (found.kind, found.is_error, found.text) == ("error", True, text)


def test_stop_hooks_are_silent_unless_they_fail() -> None:
    log = ClaudeLog()
    quiet = log.row("system", subtype="stop_hook_summary", hookErrors=[], hookCount=1)
    loud = log.row("system", subtype="stop_hook_summary", hookErrors=["lint failed"])
    found = parse_rows(quiet, loud)
    assert [(e.text, e.is_error) for e in events(found)] == [("lint failed", True)]
    assert found.ignored["system/stop_hook_summary"] == 1


def test_attachments_worth_reading_are_kept_and_listings_only_counted() -> None:
    log = ClaudeLog()
    log.attach("hook_success", content="", stdout="{}")
    log.attach("hook_additional_context", content=["be", "brief"])
    log.attach("async_hook_response", stdout="{}", response={"systemMessage": "linted"})
    log.attach("file", filename="/a.py", content={"type": "text", "file": {"content": "y" * 5000}})
    log.attach("nested_memory", path="/R.md", content={"path": "/R.md", "content": "rule" * 900})
    log.attach("instructions", files=[{"path": "/C.md", "content": "use make"}])
    log.attach("skill_listing", content="- a skill")
    log.attach("prompt_snapshot", systemPrompt=["You are"])
    found = parse_rows(*log.rows)
    kept = events(found)
    assert {e.kind for e in kept} == {"injected"}
    assert [(e.label, e.files, len(e.text)) for e in kept] == [
        ("hook_additional_context", (), 8),
        ("async_hook_response", (), 6),
        ("file", ("/a.py",), 2048),
        ("nested_memory", ("/R.md",), 3600),
        ("instructions", ("/C.md",), 8),
    ]
    assert found.ignored == {
        "attachment/hook_success": 1,
        "attachment/skill_listing": 1,
        "attachment/prompt_snapshot": 1,
    }
    assert not found.unknown


def test_copies_of_the_request_are_never_stored() -> None:
    log = ClaudeLog()
    for kind in ("api-request", "api-request-blob", "api-request-shape", "last-prompt"):
        log.raw({"type": kind, "sessionId": log.session_id, "message": "prompt text"})
    found = parse_rows(*log.rows)
    assert found.sessions == []
    assert sum(found.ignored.values()) == found.records == 4


# --- what nobody knows ---


def test_an_unknown_record_is_kept_in_short_and_counted_by_version() -> None:
    log = ClaudeLog()
    log.version = "9.9.9"
    log.prompt("hi")
    log.raw({"type": "hologram", "sessionId": log.session_id, "data": "z" * 9000})
    found = parse_rows(*log.rows)
    kept = events(found)[1]
    assert (kept.kind, kept.label, len(kept.text)) == ("other", "hologram", 2048)
    assert found.unknown == {("9.9.9", "hologram"): 1}
    assert found.state == {"version": "9.9.9", "session": log.session_id}


@pytest.mark.parametrize(
    ("row", "what"),
    [
        (ClaudeLog().row("system", subtype="weather", content="rain"), "system/weather"),
        (ClaudeLog().attach("hologram", x=1), "attachment/hologram"),
        (ClaudeLog().row("attachment"), "attachment/"),
        (ClaudeLog().prompt([{"type": "smell"}]), "block/smell"),
    ],
)
def test_unknown_parts_of_known_records_are_kept_and_counted(row: Any, what: str) -> None:
    found = parse_rows(row)
    assert found.unknown == {("2.1.98", what): 1}
    assert len(events(found)) == 1


def test_an_unknown_kind_of_progress_is_counted() -> None:
    found = parse_rows(ClaudeLog().row("progress", data={"type": "new_progress"}))
    assert found.unknown == {("2.1.98", "progress/new_progress"): 1}


@pytest.mark.rows("CAP-21")
def test_records_of_newer_clients_are_known() -> None:
    log = ClaudeLog()
    log.raw({"type": "file-history-delta", "sessionId": log.session_id, "trackingPath": "a.py"})
    log.attach("ultra_effort_enter", reminder="think")
    log.attach("ultra_effort_exit")
    log.attach("goal_status", goal="all tests green", met=False)
    found = parse_rows(*log.rows)
    assert found.unknown == {}
    assert found.ignored["file-history-delta"] == 1
    assert found.ignored["attachment/ultra_effort_enter"] == 1
    (kept,) = events(found)
    assert (kept.kind, kept.label) == ("injected", "goal_status")
    assert "all tests green" in kept.text
