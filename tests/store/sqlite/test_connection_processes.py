"""Several processes on one store: they wait for each other and find what the others wrote."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from session_memory.errors import StoreLocked
from session_memory.store.port import SessionQuery
from session_memory.store.sqlite import SqliteStore, connection, open_store
from session_memory.testing.store_drafts import START, Said, add_draft, capture, event, texts

COMMITS = 25
WRITE = f"""
import sys
from session_memory.store.sqlite import open_store
from session_memory.testing.store_drafts import Said, capture, event, turn

store = open_store(sys.argv[1], 0, create_missing=True)
print("ready", flush=True)
sys.stdin.readline()
for index in range({COMMITS}):
    body = f"{{sys.argv[2]}} {{index}} " * 200
    capture(store, Said(sys.argv[2], "/logs/" + sys.argv[2], (turn(index, body),)))
    capture(store, Said("both", "/logs/both-" + sys.argv[2], (event(index, body),)))
store.close()
"""
OPEN = """
import sys
from session_memory.store.sqlite import open_store

print("ready", flush=True)
sys.stdin.readline()
open_store(sys.argv[1], 0, create_missing=True).close()
"""


def run_together(program: str, directory: Path, *names: str) -> None:
    """Start one process for each name, let them go at the same moment, and wait for all."""
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(directory), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in names
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    failures = [process.communicate(timeout=120)[1] for process in started]
    assert failures == [""] * len(names)
    assert [process.returncode for process in started] == [0] * len(names)


@pytest.mark.rows("STO-11")
def test_a_connection_has_wal_a_busy_timeout_and_foreign_keys(
    store: SqliteStore, directory: Path
) -> None:
    opened = connection.connect(str(directory / "store.db"))

    def pragma(name: str) -> object:
        return opened.execute(f"PRAGMA {name}").fetchall()[0][0]

    assert pragma("journal_mode") == "wal"
    assert int(str(pragma("busy_timeout"))) >= 5000
    assert pragma("foreign_keys") == 1
    assert pragma("synchronous") == 2  # FULL: evictions unlink files after their commit
    assert pragma("secure_delete") == 1
    assert pragma("auto_vacuum") == 2  # incremental
    opened.close()


def test_a_row_without_its_session_is_refused(store: SqliteStore, directory: Path) -> None:
    opened = connection.connect(str(directory / "store.db"))
    with pytest.raises(apsw.ConstraintError):
        opened.execute("INSERT INTO session_source VALUES (99, 99, 0)")
    opened.close()


@pytest.mark.rows("STO-11")
def test_two_processes_write_at_once_and_neither_fails(directory: Path) -> None:
    open_store(str(directory), START, create_missing=True).close()
    run_together(WRITE, directory, "one", "two")
    with open_store(str(directory), START) as store:
        assert store.fsck() == []
        assert store.sweep_orphans() == 0
        counts = {s.external_id: s.event_count for s in store.sessions(SessionQuery())}
        assert counts == {"one": COMMITS, "two": COMMITS, "both": 2 * COMMITS}
        both = store.find_session("both")
        assert sorted(e.seq for e in store.events(both.id)) == list(range(2 * COMMITS))
        assert texts(store, both.id)[-1] == f"two {COMMITS - 1} " * 200


def test_processes_that_open_a_new_store_at_once_all_succeed(tmp_path: Path) -> None:
    for attempt in range(3):
        directory = tmp_path / f"new-{attempt}"
        run_together(OPEN, directory, "a", "b", "c", "d")
        with open_store(str(directory), START) as store:
            assert store.fsck() == []
            assert store.info().schema_version == connection.SCHEMA_VERSION
            capture(store, Said("s", "/l", (event(0, "x"),)))


def test_a_writer_that_cannot_wait_any_longer_says_locked(
    store: SqliteStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "BUSY_TIMEOUT_MS", 1)
    other = open_store(str(directory), START)
    with store.writing() as writer:
        add_draft(writer, Said("s", "/l", (event(0, "x"),)))
        with pytest.raises(StoreLocked), other.writing():
            pass
        with pytest.raises(StoreLocked):
            other.sweep_orphans()
    with other.writing():
        pass
    other.close()


def test_orphans_are_not_swept_under_a_writer_about_to_commit(
    store: SqliteStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its files are there before its rows: taken for orphans, the commit would point at nothing."""
    monkeypatch.setattr(connection, "BUSY_TIMEOUT_MS", 1)
    other = open_store(str(directory), START)
    put = store.segments.put

    def put_then_sweep(segments: list[object]) -> None:
        put(segments)  # type: ignore[arg-type]
        with pytest.raises(StoreLocked):
            other.sweep_orphans()
        assert other.fsck()[0].check == "orphan_segment"

    monkeypatch.setattr(store.segments, "put", put_then_sweep)
    (session_id,) = capture(store, Said("s", "/l", (event(0, "text"),)))
    assert texts(other, session_id) == ["text"]
    other.close()


def test_a_commit_between_two_questions_never_shows_by_half(
    store: SqliteStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever statement of `events` a commit comes before, its rows and texts fit together."""
    (session_id,) = capture(store, Said("s", "/l", (event(0, "0"),)))
    reader = open_store(str(directory), START)
    plain = reader._db  # pyright: ignore[reportPrivateUsage]
    grown = [0]

    class Interrupted:
        """The reader's database, with a commit of the writer before every statement."""

        def execute(self, *arguments: object) -> object:
            grown[0] += 1
            capture(store, Said("s", "/l", (event(grown[0], str(grown[0])),)))
            return plain.execute(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(reader, "_db", Interrupted())
    seen = texts(reader, session_id)
    assert seen == [str(index) for index in range(len(seen))]
    assert len(seen) >= 2
    monkeypatch.undo()
    reader.close()
