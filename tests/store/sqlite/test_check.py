"""Each check of fsck finds a store that was broken on purpose."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from session_memory.errors import DatabaseDamaged
from session_memory.store.sqlite import SqliteStore, check, open_store
from session_memory.testing.store_drafts import (
    START,
    Said,
    analyze,
    capture,
    distilled,
    event,
    evict,
    lived,
    response,
    turn,
)


@pytest.fixture
def broken(store: SqliteStore, directory: Path) -> Callable[[str], list[str]]:
    """Breaks a filled store with SQL, foreign keys off, and says what fsck finds."""
    talk = Said(
        "talk",
        "/logs/talk",
        (turn(0, "hello"), turn(1, "world"), event(2, "plain")),
        lived(0, 2),
        (response("r"),),
    )
    fork = Said("fork", "/logs/fork", (turn(5, "own"),), lived(5, 5), (response("r"),))
    gone = Said("gone", "/logs/gone", (turn(9, "old"),), lived(9, 9))
    one, two, three = capture(store, talk, fork, gone)
    assert (one, two, three) == (1, 2, 3)
    capture(store, Said("talk", "/logs/talk-copy", (turn(50, "hello", at=START),)))
    for session_id in (one, two, three):
        analyze(store, session_id, distilled())
    evict(store, three)
    assert store.fsck() == []

    def run(sql: str) -> list[str]:
        opened = apsw.Connection(str(directory / "store.db"))
        opened.execute("PRAGMA foreign_keys = 0")
        opened.execute(sql)
        opened.close()
        return [finding.check for finding in store.fsck()]

    return run


BREAKS = {
    "foreign_key": "INSERT INTO fact VALUES (99, 'cwd', 1, '', '\"/x\"', 0)",
    "event_without_session": "UPDATE session SET id = 77 WHERE id = 1",
    "event_without_source": "UPDATE event SET source_id = 99 WHERE id = (1 << 24)",
    "text_outside_segment": "UPDATE event SET body_len = 9999 WHERE id = (1 << 24)",
    "response_not_counted_once": "UPDATE usage SET counted = 1",
    "analyzed_without_digest": "DELETE FROM digest WHERE session_id = 1",
    "evicted_with_raw": "UPDATE session SET state = 'raw_evicted' WHERE id = 1",
    "wrong_event_count": "UPDATE session SET raw_events = raw_events + 1 WHERE id = 1",
    "session_past_its_sequence": "UPDATE session SET next_seq = 1 WHERE id = 1",
    "segment_hash": "UPDATE segment SET hash = x'00' WHERE id = 1",
    "segment_text": "UPDATE segment SET text_bytes = text_bytes + 1 WHERE id = 1",
    "segment": "UPDATE segment SET name = '1-00.seg' WHERE id = 1",
    "index": "DELETE FROM event_text WHERE rowid = (1 << 24)",
}


@pytest.mark.parametrize(("found", "sql"), BREAKS.items())
def test_each_check_finds_its_fault(
    broken: Callable[[str], list[str]], found: str, sql: str
) -> None:
    assert found in broken(sql)


@pytest.mark.parametrize(
    ("found", "sql"),
    [
        ("text_outside_segment", "DELETE FROM segment WHERE id = 1"),
        ("text_outside_segment", "UPDATE segment SET session_id = 2 WHERE id = 1"),
        ("response_not_counted_once", "UPDATE usage SET counted = 0"),
        ("index", "DELETE FROM turn_text WHERE rowid = (1 << 24)"),
        ("index", "INSERT INTO event_text (rowid, body) VALUES (424242, 'left behind')"),
        ("index", "DELETE FROM event WHERE id = (1 << 24)"),
        ("segment", "UPDATE segment SET name = '../../1-00.seg' WHERE id = 1"),
        ("wrong_event_count", "UPDATE session SET raw_events = 1 WHERE id = 3"),
        ("integrity", "UPDATE event_text_data SET block = zeroblob(40) WHERE id > 10"),
    ],
)
def test_checks_find_other_faults_too(
    broken: Callable[[str], list[str]], found: str, sql: str
) -> None:
    assert found in broken(sql)


def test_every_check_on_rows_is_proven_here() -> None:
    assert set(check._REFERENCES) <= set(BREAKS)  # pyright: ignore[reportPrivateUsage]


def test_a_missing_file_and_a_file_too_many_are_distinguished(
    store: SqliteStore, directory: Path
) -> None:
    capture(store, Said("one", "/l", (event(0, "text"),)))
    (segment,) = (path for path in (directory / "segments").rglob("*.seg"))
    segment.rename(segment.with_name("1-00ff.seg"))
    findings = {finding.check: finding for finding in store.fsck()}
    assert set(findings) == {"segment", "orphan_segment"}
    assert findings["segment"].severity == "error"
    assert "session one" in findings["segment"].detail
    assert findings["orphan_segment"].severity == "warning"


def test_a_segment_that_cannot_be_opened_is_a_finding(store: SqliteStore, directory: Path) -> None:
    capture(store, Said("one", "/l", (event(0, "text"),)))
    (segment,) = (path for path in (directory / "segments").rglob("*.seg"))
    segment.unlink()
    segment.mkdir()
    assert [finding.check for finding in store.fsck()] == ["segment"]


def test_damaged_pages_are_findings_and_not_a_crash(directory: Path) -> None:
    with open_store(str(directory), START, create_missing=True) as store:
        said = tuple(turn(index, f"text {index} " * 30) for index in range(300))
        capture(store, Said("one", "/l", said))
    path = directory / "store.db"
    whole = path.read_bytes()
    page = 8192
    found = 0
    for number in range(2, len(whole) // page, 7):
        data = bytearray(whole)
        data[number * page : (number + 1) * page] = b"\x5a" * page
        path.write_bytes(data)
        try:
            store = open_store(str(directory), START)
        except DatabaseDamaged:  # so damaged that it does not even open
            continue
        findings = store.fsck()
        found += bool(findings)
        store.close()
    path.write_bytes(whole)
    assert found > 3
