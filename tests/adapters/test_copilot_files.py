"""Copilot's files: three layouts, the names beside the log, checkpoints, and homes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.copilot_reading import facts, only, parse_file, said

from session_memory.adapters.copilot.log_builder import CopilotLog
from session_memory.adapters.copilot.reader import ADAPTER, discover
from session_memory.adapters.copilot.yaml import read_pairs
from session_memory.adapters.registry import homes


def talk() -> CopilotLog:
    log = CopilotLog()
    log.start()
    log.prompt("go")
    return log


def old_session(**more: Any) -> dict[str, Any]:
    return {"sessionId": "old-1", "startTime": "2025-10-08T21:10:16.398Z", **more}


TIMELINE: list[dict[str, Any]] = [
    {"type": "user", "timestamp": "2025-10-08T21:10:20.000Z", "text": "add it"},
    {"type": "copilot", "timestamp": "2025-10-08T21:10:21.000Z", "text": "Adding."},
    {"type": "tool_call_requested", "timestamp": "2025-10-08T21:10:22.000Z", "callId": "c"},
    {
        "type": "tool_call_completed",
        "timestamp": "2025-10-08T21:10:23.000Z",
        "callId": "c",
        "name": "bash",
        "arguments": {"command": "make"},
        "result": {"type": "failure", "log": "boom\n<exited with exit code 2>"},
    },
    {"type": "info", "timestamp": "2025-10-08T21:10:24.000Z", "text": "saved"},
    {"type": "sparkle", "timestamp": "2025-10-08T21:10:25.000Z"},
]


def test_all_three_layouts_are_found_and_nothing_else(tmp_path: Path) -> None:
    log = talk()
    log.side_files["checkpoints/001-x.md"] = b"x"
    log.side_files["files/notes.jsonl"] = b"{}\n"
    home = tmp_path / ".copilot"
    folder = log.write(home)
    flat = home / "session-state" / f"{CopilotLog(2).session_id}.jsonl"
    flat.write_bytes(log.dump())
    old = home / "history-session-state" / "session_x.json"
    old.parent.mkdir()
    old.write_text(json.dumps(old_session(timeline=[])))
    (home / "config.json").write_text("{}")
    (found,) = homes(ADAPTER, {}, str(tmp_path))
    assert {file.path for file in discover(found)} == {str(folder), str(flat), str(old)}
    named = homes(ADAPTER, {"COPILOT_HOME": str(tmp_path / "x")}, str(tmp_path))
    assert named == [str(tmp_path / "x")]
    assert [f.path for f in discover(str(folder.parent))] == [str(folder)]


def test_a_flat_file_is_named_by_its_own_name(tmp_path: Path) -> None:
    log = talk()
    path = tmp_path / f"{log.session_id}.jsonl"
    path.write_bytes(log.dump())
    (bundle,) = parse_file(path)
    assert only(bundle).external_id == log.session_id
    other = tmp_path / "copy.jsonl"
    other.write_bytes(log.dump())
    (bundle,) = parse_file(other)
    assert only(bundle).external_id == log.session_id


@pytest.mark.parametrize("by_user", [False, True])
def test_the_file_beside_the_log_names_the_session(tmp_path: Path, by_user: bool) -> None:
    log = talk()
    log.name("It''s tea", by_user=by_user)
    (bundle,) = parse_file(log.write(tmp_path))
    assert facts(only(bundle))["title.custom" if by_user else "title.ai"] == "It's tea"


def test_the_file_beside_the_log_says_where_only_if_the_log_does_not(tmp_path: Path) -> None:
    log = talk()
    log.side_files["workspace.yaml"] = b"cwd: /elsewhere\nbranch: other\n"
    (bundle,) = parse_file(log.write(tmp_path))
    assert facts(only(bundle))["cwd"] == "/work/shop"
    del log.rows[0]
    (bundle,) = parse_file(log.write(tmp_path))
    assert (facts(only(bundle))["cwd"], facts(only(bundle))["branch"]) == ("/elsewhere", "other")


def test_plain_quoted_and_block_values_are_read() -> None:
    text = (
        "id: 1-2\nname: 'it''s: a # name'\nsaid: \"a\\tb\"\nsummary: |-\n  one\n\n  two\n"
        "folded: >\n  a\n  b\nempty:\nnothing: null\nlist:\n  - x\n# note\nurl: http://x:1/\n"
    )
    assert read_pairs(text) == {
        "id": "1-2",
        "name": "it's: a # name",
        "said": "a\tb",
        "summary": "one\n\ntwo",
        "folded": "a b",
        "empty": "",
        "nothing": "",
        "list": "",
        "url": "http://x:1/",
    }
    assert read_pairs("\x00\n: x\n- y\n'a': b\n") == {}
    assert read_pairs('broken: "a\\qb"\nodd: "\n') == {"broken": "a\\qb", "odd": '"'}


def test_a_summary_that_stands_in_a_checkpoint_is_read_from_there(tmp_path: Path) -> None:
    log = talk()
    place = "/home/them/.copilot/session-state/x/checkpoints/001-tea.md"
    log.row("session.compaction_complete", success=True, checkpointPath=place)
    log.row("session.compaction_complete", success=False, error="too long")
    log.side_files["checkpoints/001-tea.md"] = b"made tea"
    (bundle,) = parse_file(log.write(tmp_path))
    assert said(bundle)[1:] == [
        ("compaction", "compaction", "made tea"),
        ("error", "compaction_failed", "too long"),
    ]


def test_a_document_of_2025_is_read_by_its_timeline(tmp_path: Path) -> None:
    path = tmp_path / "session_old.json"
    chat = [{"role": "user", "content": "add it"}]
    document = old_session(timeline=TIMELINE, chatMessages=chat)
    path.write_text(json.dumps(document, indent=2))
    (bundle,) = parse_file(path)
    part = only(bundle)
    assert part.external_id == "old-1"
    assert [(e.kind, e.exit_code, e.is_error) for e in part.events] == [
        ("user_prompt", None, False),
        ("assistant_text", None, False),
        ("tool_call", None, False),
        ("tool_result", 2, True),
        ("system", None, False),
        ("other", None, False),
    ]
    assert len({event.pos for event in part.events}) == len(part.events)
    assert part.events[0].at is not None
    assert part.events[2].call_id == part.events[3].call_id == "c"
    assert sum(bundle.unknown.values()) == 1


def test_a_document_without_times_is_read_by_its_messages(tmp_path: Path) -> None:
    call = {"id": "c", "function": {"name": "view", "arguments": '{"path": "/x"}'}}
    chat: list[dict[str, Any]] = [
        {"role": "system", "content": "You are."},
        {"role": "user", "content": "look"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": "seen"},
        {"role": "assistant", "content": "Done."},
    ]
    path = tmp_path / "session_old.json"
    path.write_text(json.dumps(old_session(chatMessages=chat)))
    (bundle,) = parse_file(path)
    events = only(bundle).events
    kinds = [event.kind for event in events]
    assert kinds == ["user_prompt", "tool_call", "tool_result", "assistant_text"]
    assert events[1].files == ("/x",)


def test_a_torn_document_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "session_old.json"
    path.write_text(json.dumps(old_session(timeline=TIMELINE))[:-40])
    (bundle,) = parse_file(path)
    assert (bundle.parse_errors, bundle.sessions) == (1, [])
