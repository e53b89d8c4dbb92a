"""A backup copies a database that is whole, beside writers."""

from __future__ import annotations

import os
from pathlib import Path

import apsw
import pytest
from tests.store.test_backups import back_up, is_whole, refusal, space, target

from session_memory.testing.workspace import Workspace

__all__ = ["space", "target"]


@pytest.mark.rows("BAK-03")
def test_a_malformed_store_is_not_copied(space: Workspace, target: Path) -> None:
    database = space.store_directory / "store.db"
    size = database.stat().st_size
    with database.open("r+b") as file:
        file.seek(size // 2 // 8192 * 8192)
        file.write(b"\xff" * 8192)
    before = database.read_bytes()
    said = refusal(back_up(space, target), 1)
    assert "damaged" in said
    assert not target.parent.exists() or os.listdir(target.parent) == []
    assert database.read_bytes() == before


def test_writers_without_the_sweeps_lock_do_no_harm(space: Workspace, target: Path) -> None:
    """Hooks and servers write while a backup runs: it is the store of one moment."""
    writer = apsw.Connection(str(space.store_directory / "store.db"))
    writer.execute("BEGIN IMMEDIATE; INSERT INTO meta VALUES ('later', x'00')")
    assert back_up(space, target).returncode == 0
    writer.execute("COMMIT")
    writer.close()
    assert is_whole(target)
    copy = apsw.Connection(f"file:{target}/store.db?immutable=1", flags=0x41)
    assert copy.execute("SELECT count(*) FROM meta WHERE name = 'later'").fetchall() == [(0,)]
    copy.close()
