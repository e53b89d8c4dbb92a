"""Where the store's bytes are, who may read them, and what stays when some of them are gone."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import sys
from pathlib import Path

import apsw
import pytest

from session_memory.core.retention.estimate import estimate_raw_bytes, index_estimate
from session_memory.errors import StoreDamaged, StoreError, StoreMissing
from session_memory.store.port import SessionQuery
from session_memory.store.sqlite import SqliteStore, open_store
from session_memory.testing.store_drafts import (
    START,
    Said,
    analyze,
    capture,
    event,
    evict,
    lived,
    response,
    texts,
    turn,
)

ONE = Said(
    "one",
    "/logs/one",
    (turn(0, "a prompt nobody else wrote"), event(5, "an answer of its own")),
    lived(0, 5),
    (response("r"),),
)


def files(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()]


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0x10
    path.write_bytes(data)


@pytest.mark.rows("STO-01")
def test_rows_hold_a_reference_and_not_the_text(store: SqliteStore, directory: Path) -> None:
    (session_id,) = capture(store, ONE)
    first, second = store.events(session_id)
    assert first.body_ref is not None
    assert second.body_ref == (first.body_ref[0], first.body_ref[2], len("an answer of its own"))
    store.close()
    database = b"".join(path.read_bytes() for path in directory.glob("store.db*"))
    assert b"nobody else wrote" not in database
    assert b"answer of its own" not in database
    connection = apsw.Connection(str(directory / "store.db"))
    for row in connection.execute("SELECT * FROM event"):
        assert not any(isinstance(value, str) and "answer" in value for value in row)
    connection.close()


@pytest.mark.rows("STO-01")
def test_rows_stay_readable_without_the_segment_directory(
    store: SqliteStore, directory: Path
) -> None:
    (session_id,) = capture(store, ONE)
    analyze(store, session_id)
    shutil.rmtree(directory / "segments")
    assert [found.kind for found in store.events(session_id)] == ["user_prompt", "assistant_text"]
    assert [session.external_id for session in store.sessions(SessionQuery())] == ["one"]
    assert store.digest(session_id) is not None
    assert len(store.search("prompt")) == 1
    assert store.session(session_id).cost.output == 10
    with pytest.raises(StoreDamaged, match="missing"):
        list(store.events(session_id, texts=True))
    assert {finding.check for finding in store.fsck()} == {"segment"}


@pytest.mark.rows("STO-01")
def test_a_flipped_byte_is_found_by_reading_or_by_fsck(store: SqliteStore, directory: Path) -> None:
    (session_id,) = capture(store, ONE)
    wanted = texts(store, session_id)
    (segment,) = files(directory / "segments")
    whole = segment.read_bytes()
    for position in range(len(whole)):
        flip(segment, position)
        other = open_store(str(directory), START, read_only=True)
        with other, contextlib.suppress(StoreDamaged):
            assert texts(other, session_id) == wanted
        assert [finding.check for finding in store.fsck()] == ["segment_hash"]
        segment.write_bytes(whole)
    assert store.fsck() == []


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")
@pytest.mark.rows("STO-02")
def test_everything_is_private_whatever_the_umask(tmp_path: Path) -> None:
    home = tmp_path / "new" / "store"
    before = os.umask(0)
    try:
        store = open_store(str(home), START, create_missing=True)
        capture(store, ONE, Said("two", "/logs/two", (event(9, "x"),)))
        store.backup(str(tmp_path / "copy"))
    finally:
        os.umask(before)
    seen = {path.name for path in files(home)}
    assert {"store.db", "store.db-wal", "store.db-shm"} < seen
    for root in (home, tmp_path / "copy"):
        for path in (root, *root.rglob("*")):
            wanted = 0o700 if path.is_dir() else 0o600
            assert stat.S_IMODE(path.stat().st_mode) == wanted, path
    store.close()


@pytest.mark.rows("STO-02")
def test_a_store_is_made_only_where_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "repository"
    (repository / ".git").mkdir(parents=True)
    monkeypatch.chdir(repository)
    home = tmp_path / "deep" / "down" / "store"
    with pytest.raises(StoreMissing):
        open_store(str(home), START)
    assert not home.exists()
    with open_store(str(home), START, create_missing=True) as store:
        (session_id,) = capture(store, Said("s", "/l", (turn(0, "x"),), (*lived(0, 1),)))
        analyze(store, session_id)
        evict(store, session_id)
    assert [path.name for path in files(home)] == ["store.db"]
    assert [path.name for path in repository.rglob("*")] == [".git"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "home", "repository"]


@pytest.mark.rows("RET-07", "RET-08")
def test_usage_is_the_bytes_on_disk_and_the_documented_estimate(
    store: SqliteStore, directory: Path
) -> None:
    said = [
        Said(
            f"s{index}", f"/logs/{index}", (turn(index, f"text {index} " * 500), event(50 + index))
        )
        for index in range(5)
    ]
    sessions = capture(store, *said)

    def expected(kept: list[Said]) -> int:
        on_disk = sum(path.stat().st_size for path in files(directory / "segments"))
        rows = estimate_raw_bytes(0, sum(len(one.events) for one in kept), 0)
        indexed = [text for one in kept for e in one.events for text in (e.index_text, e.turn_text)]
        return on_disk + rows + sum(index_estimate(len(text)) for text in indexed if text)

    assert store.raw_usage().raw_bytes == expected(said)
    before = sum(path.stat().st_size for path in files(directory / "segments"))
    for session_id in sessions[:3]:
        analyze(store, session_id)
    freed = evict(store, *sessions[:3])
    after = sum(path.stat().st_size for path in files(directory / "segments"))
    assert freed == before - after > 0
    assert store.raw_usage().raw_bytes == expected(said[3:])
    assert store.info().segment_bytes == after


def test_eviction_shrinks_the_store(store: SqliteStore, directory: Path) -> None:
    words = " ".join(f"word{index}" for index in range(2_000))
    large = tuple(turn(index, f"{index} {words}") for index in range(120))
    (session_id,) = capture(store, Said("large", "/logs/large", large))
    capture(store, ONE)
    before = sum(path.stat().st_size for path in files(directory))
    analyze(store, session_id)
    evict(store, session_id)
    after = sum(path.stat().st_size for path in files(directory))
    assert after < before // 4
    assert len(files(directory / "segments")) == 1
    database = b"".join(path.read_bytes() for path in directory.glob("store.db*"))
    assert b"word1999" not in database  # not in free pages either
    assert store.fsck() == []


def test_an_index_is_free_of_the_words_of_what_was_evicted(store: SqliteStore) -> None:
    (session_id,) = capture(store, Said("s", "/l", (turn(0, "zanzibar"),)))
    capture(store, ONE)
    analyze(store, session_id)
    evict(store, session_id)
    assert store.search("zanzibar") == []


@pytest.mark.skipif(sys.platform == "win32", reason="modes are POSIX")
def test_a_read_only_store_leaves_the_directory_as_it_was(
    store: SqliteStore, directory: Path
) -> None:
    capture(store, ONE)
    store.close()
    before = {path: path.read_bytes() for path in files(directory)}
    with open_store(str(directory), START, read_only=True) as reader:
        assert len(list(reader.dump())) == 1
        assert reader.fsck() == []
        with pytest.raises(StoreError, match="readonly"), reader.writing() as writer:
            writer.session("claude", "new", None)
    assert {path: path.read_bytes() for path in files(directory)} == before


def test_a_file_that_is_no_store_is_damage(directory: Path) -> None:
    directory.mkdir()
    (directory / "store.db").write_bytes(b"not a database, but long enough to be read as one " * 99)
    with pytest.raises(StoreDamaged):
        open_store(str(directory), START)
