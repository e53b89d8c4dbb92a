"""The reader against a database that Crush wrote, next to counts that know no reader."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from session_memory.testing.workspace import Workspace


def counted(path: Path) -> Counter[str]:
    """What the database holds, asked without the reader."""
    found: Counter[str] = Counter()
    db = sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)
    parents = dict(db.execute("SELECT id, parent_session_id FROM sessions"))
    for session, role, text in db.execute("SELECT session_id, role, parts FROM messages"):
        for part in json.loads(text):
            kind, data = part["type"], part["data"]
            if kind == "tool_result":
                content = data["content"]
                found["errors"] += data["is_error"] or "\nExit code " in content[-200:]
            if kind == "text" and role == "user":
                ours = not parents[session] and not data["text"].startswith("`Please analyze")
                kind = "prompt" if ours else "injected"
            found[kind] += 1
    db.close()
    found["sessions"] = len(parents)
    return found


@pytest.mark.shared
def test_a_genuine_database_comes_out_as_it_is_counted(shared: Path, tmp_path: Path) -> None:
    home = shared / "more-agents" / "crush"
    wanted: Counter[str] = Counter()
    for path in home.rglob("crush.db"):
        wanted += counted(path)
    space = Workspace(tmp_path)
    space.paths["crush"] = (str(home),)
    report = space.sweep()
    assert (report.failed, dict(report.unknown), report.parse_errors) == ([], {}, 0)
    assert report.ingested == wanted["sessions"]
    events = [event for name in space.sessions() for event in space.events(name)]
    kinds = Counter(event.kind for event in events)
    assert kinds["user_prompt"] == wanted["prompt"] > 10
    assert kinds["injected"] == wanted["injected"]
    assert kinds["assistant_text"] == wanted["text"]
    assert kinds["tool_call"] == wanted["tool_call"] > 40
    assert kinds["tool_result"] == wanted["tool_result"] > 40
    assert (
        sum(event.is_error for event in events if event.kind == "tool_result") == wanted["errors"]
    )
    assert space.sweep().ingested == 0
