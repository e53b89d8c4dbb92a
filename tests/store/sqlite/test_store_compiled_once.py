"""Statements are compiled once and used for every value, however SQLite was built."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.store.sqlite.store import SqliteStore
from session_memory.testing.workspace import Workspace


@pytest.mark.rows("STO-17")
def test_a_statement_is_not_compiled_again_for_another_session(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    for seed in range(1, 6):
        log = ClaudeLog(seed)
        log.prompt("What is in this directory?")
        log.run("ls", "README.md")
        space.write(log)
    space.sweep()
    compiled: list[str | None] = []

    def note(_action: int, table: str | None, *_: str | None) -> int:
        compiled.append(table)  # SQLite asks for leave whenever it compiles something
        return apsw.SQLITE_OK

    with space.store() as store:
        assert isinstance(store, SqliteStore)
        connection: Any = store._db
        connection.authorizer = note
        read(store, 1)
        assert {"session", "event"} <= set(compiled)
        compiled.clear()
        for session_id in range(2, 6):
            read(store, session_id)
    assert compiled == []


def read(store: SqliteStore, session_id: int) -> None:
    assert store.session(session_id).event_count == 3
    assert len(list(store.events(session_id, texts=True))) == 3
