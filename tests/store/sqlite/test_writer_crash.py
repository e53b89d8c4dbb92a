"""Cut off between rows and files: nothing points at what is gone, and leftovers are found."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from session_memory.errors import StoreError
from session_memory.store.segments import DirectorySegments
from session_memory.store.sqlite import SqliteStore, open_store
from session_memory.testing.store_drafts import (
    START,
    Said,
    analyze,
    capture,
    event,
    evict,
    texts,
    turn,
)

KILLED_IN = """
import os, signal, sys
from session_memory.store.segments import DirectorySegments
from session_memory.store.sqlite import open_store
from session_memory.testing.store_drafts import Said, capture, event, evict

def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)

store = open_store(sys.argv[1], 0)
one = store.find_session("one").id
match sys.argv[2]:
    case "evict":
        DirectorySegments.delete = die
        evict(store, one)
    case "compact":
        DirectorySegments.delete = die
        store.compact(one)
    case "append":
        put = DirectorySegments.put
        DirectorySegments.put = lambda self, segments: (put(self, segments), die())
        capture(store, Said("one", "/logs/one", (event(70, "never committed"),)))
    case "temp":
        os.replace = die
        capture(store, Said("one", "/logs/one", (event(70, "never committed"),)))
"""


def segments_on_disk(directory: Path) -> list[Path]:
    return [path for path in (directory / "segments").rglob("*") if path.is_file()]


def referenced_texts_are_there(store: SqliteStore) -> bool:
    """No row points at a missing file: every live event's text can be read."""
    for entry in store.dump():
        if entry["session"]["state"] == "raw_evicted":
            assert entry["events"] == []
    return store.fsck() == []


@pytest.fixture
def filled(store: SqliteStore, directory: Path) -> Path:
    """A closed store: one analyzed session in three segments, and another."""
    for index in range(3):
        (one,) = capture(store, Said("one", "/logs/one", (turn(index, f"part {index}"),)))
    capture(store, Said("two", "/logs/two", (event(50, "other"),)))
    analyze(store, one)
    store.close()
    return directory


def kill_in(directory: Path, what: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED_IN, str(directory), what],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
@pytest.mark.rows("RET-10")
def test_killed_between_row_and_unlink_of_an_eviction(filled: Path) -> None:
    kill_in(filled, "evict")
    assert len(segments_on_disk(filled)) == 4  # nothing was unlinked yet
    with open_store(str(filled), START) as store:
        one = store.find_session("one")
        assert one.state == "raw_evicted"
        assert list(store.events(one.id)) == []
        assert store.digest(one.id) is not None
        assert {finding.check for finding in store.fsck()} == {"orphan_segment"}
        assert store.sweep_orphans() == 3
        assert store.sweep_orphans() == 0
        assert len(segments_on_disk(filled)) == 1
        assert referenced_texts_are_there(store)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_killed_between_row_and_unlink_of_a_compaction(filled: Path) -> None:
    kill_in(filled, "compact")
    with open_store(str(filled), START) as store:
        one = store.find_session("one")
        assert texts(store, one.id) == ["part 0", "part 1", "part 2"]
        assert store.sweep_orphans() == 3
        assert texts(store, one.id) == ["part 0", "part 1", "part 2"]
        assert referenced_texts_are_there(store)


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
@pytest.mark.parametrize(("where", "orphans"), [("append", 1), ("temp", 0)])
def test_killed_before_the_rows_of_new_texts_were_committed(
    filled: Path, where: str, orphans: int
) -> None:
    kill_in(filled, where)
    assert len(segments_on_disk(filled)) == 5
    with open_store(str(filled), START) as store:
        one = store.find_session("one")
        assert texts(store, one.id) == ["part 0", "part 1", "part 2"]
        assert store.session(one.id).state == "analyzed"
        assert store.sweep_orphans() == orphans
        assert len(segments_on_disk(filled)) == 4
        capture(store, Said("one", "/logs/one", (event(70, "never committed"),)))
        assert texts(store, one.id)[-1] == "never committed"
        assert referenced_texts_are_there(store)


@pytest.mark.rows("RET-10")
def test_an_unlink_that_fails_is_made_up_for_later(
    store: SqliteStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = capture(store, Said("one", "/logs/one", (event(0, "text"),)))
    analyze(store, one)

    def fail(self: DirectorySegments, names: list[str]) -> int:
        raise PermissionError(13, "denied")

    monkeypatch.setattr(DirectorySegments, "delete", fail)
    with pytest.raises(PermissionError):
        evict(store, one)
    monkeypatch.undo()
    assert store.session(one).state == "raw_evicted"
    assert len(segments_on_disk(directory)) == 1
    assert store.sweep_orphans() == 1
    assert segments_on_disk(directory) == []
    assert referenced_texts_are_there(store)


def test_a_text_that_comes_back_is_not_taken_for_the_one_that_was_doomed(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = capture(store, Said("one", "/logs/one", (event(0, "the same"),)))
    analyze(store, one)
    monkeypatch.setattr(DirectorySegments, "delete", lambda self, names: 0)
    evict(store, one)
    monkeypatch.undo()
    capture(store, Said("one", "/logs/one", (event(9, "the same"),)))
    store.sweep_orphans()
    assert texts(store, one) == ["the same"]
    assert referenced_texts_are_there(store)


def test_a_full_disk_loses_the_block_and_nothing_else(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = capture(store, Said("one", "/logs/one", (event(0, "text"),)))
    before = list(store.dump())

    def fail(self: DirectorySegments, segments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(DirectorySegments, "put", fail)
    with pytest.raises(StoreError, match="No space left"):
        capture(store, Said("one", "/logs/one", (event(9, "more"),)))
    monkeypatch.undo()
    assert list(store.dump()) == before
    capture(store, Said("one", "/logs/one", (event(9, "more"),)))
    assert texts(store, one) == ["text", "more"]


def test_a_commit_that_fails_leaves_only_orphans(
    store: SqliteStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture(store, Said("one", "/logs/one", (event(0, "text"),)))
    before = list(store.dump())
    put = store.segments.put

    def put_then_fail(segments: list[object]) -> None:
        put(segments)  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(store.segments, "put", put_then_fail)
    with pytest.raises(KeyboardInterrupt):
        capture(store, Said("one", "/logs/one", (event(9, "more"),)))
    monkeypatch.undo()
    assert list(store.dump()) == before
    assert len(segments_on_disk(directory)) == 2
    assert store.sweep_orphans() == 1
    assert referenced_texts_are_there(store)
