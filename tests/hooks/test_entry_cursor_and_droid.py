"""Hook calls of Cursor and Droid, also where they run what was written for Claude Code."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.hooks.hook_process import run_hook, spooled
from tests.hooks.test_entry_injection import project, start, write_page

pytestmark = pytest.mark.rows("CAP-32")


def cursor_payload(root: Path, event: str = "sessionStart") -> dict[str, object]:
    return {
        "hook_event_name": event,
        "conversation_id": "c-1",
        "generation_id": "g-1",
        "workspace_roots": [str(root), "/work/other"],
        "cursor_version": "2.4.1",
        "prompt": "not to be kept",
    }


@pytest.mark.parametrize("hint", ["cursor", "claude"])
def test_cursor_is_known_by_what_it_sends_and_nothing_is_printed(tmp_path: Path, hint: str) -> None:
    root = project(tmp_path)
    write_page(root)
    ran = run_hook("sessionStart", hint, payload=cursor_payload(root))
    assert (ran.code, ran.out, ran.err) == (0, b"", b"")
    (record,) = spooled()
    assert (record["flavor"], record["event"]) == ("cursor", "session_start")
    assert (record["session"], record["cwd"]) == ("c-1", str(root))
    assert "not to be kept" not in str(record)


def test_droid_is_given_memory_as_claude_is(tmp_path: Path) -> None:
    root = project(tmp_path)
    write_page(root)
    assert b"additionalContext" in start(root, client="droid").out


def test_a_hook_of_claude_that_droid_runs_is_droids(tmp_path: Path) -> None:
    payload = {
        "session_id": "s-1",
        "hook_event_name": "Stop",
        "transcript_path": str(tmp_path / ".factory" / "sessions" / "-work" / "s-1.jsonl"),
        "cwd": str(tmp_path),
    }
    run_hook("Stop", "claude", payload=payload)
    (record,) = spooled()
    assert record["flavor"] == "droid"


@pytest.mark.parametrize("roots", [[], "text", [7], None])
def test_folders_of_another_shape_are_left_out(tmp_path: Path, roots: object) -> None:
    payload = {**cursor_payload(tmp_path), "workspace_roots": roots}
    assert run_hook("stop", "cursor", payload=payload).code == 0
    (record,) = spooled()
    assert "cwd" not in record
