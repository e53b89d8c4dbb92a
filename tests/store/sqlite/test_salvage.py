"""Rows on both sides of damaged pages are read."""

from __future__ import annotations

from pathlib import Path

from tests.store.test_damage import overwrite

from session_memory.store.sqlite import open_store, salvage
from session_memory.store.sqlite.connection import PAGE_SIZE, connect, rows


def test_rows_on_both_sides_of_bad_pages_are_read(tmp_path: Path) -> None:
    path = tmp_path / "store" / "store.db"
    open_store(str(path.parent), 0, create_missing=True).close()
    db = connect(str(path))
    db.executemany(
        "INSERT INTO eviction VALUES (?, 0, ?, ?, 'x', 0, 0)",
        [(number * 7, number, "n" * 300) for number in range(1, 2001)],
    )
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    leaves = [row[0] for row in rows(db, "SELECT pageno FROM dbstat WHERE name = 'eviction'")][1:]
    table = salvage.tables_of(db)["eviction"]
    db.close()
    assert len(leaves) > 30
    for page in (leaves[0], leaves[9], leaves[20], leaves[-1]):
        overwrite(path, (page - 1) * PAGE_SIZE, PAGE_SIZE)
    found: set[int] = set()
    with salvage.opened(str(path)) as old:
        assert old is not None
        assert not salvage.read_table(old, table, ("id",), lambda row: found.add(row[0]))
    assert 2000 * (len(leaves) - 5) / len(leaves) <= len(found) < 2000
