"""Damaged rows of an OpenCode database: what is left is told, and told as what it is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.adapters.opencode_reading import of_kind, part_of, told

from session_memory.adapters import sqlite_log
from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.common import Normalized
from session_memory.adapters.opencode.log_builder import OpenCodeLog, token_row
from session_memory.adapters.opencode.reader import ADAPTER
from session_memory.testing.workspace import Workspace


def talk() -> OpenCodeLog:
    log = OpenCodeLog(1)
    log.prompt("fix the test")
    log.say("I look at it.")
    log.end_step(token_row(100, 20), reason="stop")
    log.fail("APIError", "overloaded")
    log.prompt("go on")
    log.say("I delete all of it.")
    log.end_step(token_row(50, 10), reason="stop")
    return log


def damage(home: Path, query: str, *values: object) -> None:
    with closing(sqlite3.connect(home / "opencode.db")) as db, db:
        db.execute(query, values)


def parsed(home: Path) -> Normalized:
    (source,) = ADAPTER.discover(str(home))
    (block,) = ADAPTER.read(source, 0, 1 << 26)
    return ADAPTER.parse(source, block, {})


def test_parts_of_a_message_that_cannot_be_read_are_not_the_messages_before_it(
    tmp_path: Path,
) -> None:
    log = talk()
    log.write(tmp_path)
    answer = log.messages[-1][0]["id"]
    whole = parsed(tmp_path)
    damage(tmp_path, "UPDATE message SET data = '{\"role\":' WHERE id = ?", answer)
    bundle = parsed(tmp_path)
    assert bundle.parse_errors == 1
    assert [event.text for event in of_kind(bundle, "user_prompt")] == ["fix the test", "go on"]
    assert ("other", "no_role", "I delete all of it.") in told(bundle)
    assert len(of_kind(bundle, "error")) == len(of_kind(whole, "error")) == 1
    # What it cost is left for when it can be read: it would count twice under two keys.
    assert sum(usage.input for usage in part_of(bundle).usages) == 100
    assert bundle.ignored["step-finish/no_role"] == 1


def test_text_that_is_no_utf8_costs_neither_its_session_nor_the_sweep(tmp_path: Path) -> None:
    space, log = Workspace(tmp_path), talk()
    home = space.flavor_home("opencode")
    log.write(home)
    space.write(ClaudeLog(1))
    damage(home, "UPDATE session SET title = CAST(x'41FF42' AS TEXT)")
    bad = b'{"type":"text","text":"fix \xff it"}'
    part = log.messages[0][1][0]["id"]
    damage(home, "UPDATE part SET data = CAST(? AS TEXT) WHERE id = ?", bad, part)
    report = space.sweep()
    assert report.failed == []
    texts = [event.text for event in space.events(log.session_id)]
    assert texts[0] == "fix \ufffd it"
    assert "I delete all of it." in texts
    assert space.session(log.session_id).title == "A\ufffdB"


def test_ids_that_are_no_utf8_are_reported_and_the_sweep_goes_on(tmp_path: Path) -> None:
    space, log = Workspace(tmp_path), talk()
    home = space.flavor_home("opencode")
    log.write(home)
    (path,) = space.write(claude := ClaudeLog(1))
    claude.prompt("hello")
    path.write_bytes(claude.dump())
    damage(
        home,
        "UPDATE part SET id = CAST(x'41FF42' AS TEXT) WHERE id = ?",
        log.messages[0][1][0]["id"],
    )
    report = space.sweep()
    assert len(report.failed) == 1
    assert claude.session_id in space.sessions()


# --- a database that is somebody's trap ---

ENDLESS = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    " SELECT 'ses_' || i AS id, '/x' AS directory, 1 AS time_created, 1 AS time_updated FROM n"
)
COMPUTED = (
    "CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, time_created INTEGER,"
    " time_updated INTEGER, data TEXT AS (hex(zeroblob(100000000))))"
)
TRAPS = {
    "session": ("DROP TABLE session", f"CREATE VIEW session AS {ENDLESS}"),
    "message": ("DROP TABLE message", "CREATE VIRTUAL TABLE message USING fts5(id, data)"),
    "part": ("DROP TABLE part", COMPUTED),
}


def failure_of(space: Workspace) -> str:
    """Why the database was not read, while the log of another agent was."""
    report = space.sweep()
    assert report.ingested == 1
    (failure,) = report.failed
    assert failure.path.endswith("opencode.db")
    return failure.reason


@pytest.fixture
def trap(tmp_path: Path) -> Workspace:
    space = Workspace(tmp_path)
    talk().write(space.flavor_home("opencode"))
    other = ClaudeLog(2)
    other.prompt("and this?")
    space.write(other)
    return space


@pytest.mark.rows("ING-13")
@pytest.mark.parametrize("table", TRAPS)
def test_anything_but_a_plain_table_is_refused(trap: Workspace, table: str) -> None:
    for statement in TRAPS[table]:
        damage(trap.flavor_home("opencode"), statement)
    assert failure_of(trap) == f"{table} is not a plain table"


@pytest.mark.rows("ING-13")
def test_reading_ends_after_a_number_of_steps(
    trap: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sqlite_log, "STEPS_MAX", 20)
        patch.setattr(sqlite_log, "STEPS_AT_ONCE", 1)
        assert failure_of(trap) == "reading it takes more than 20 steps of SQLite"
    report = trap.sweep()
    assert (report.ingested, report.failed) == (1, [])
