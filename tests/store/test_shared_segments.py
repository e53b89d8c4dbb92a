"""Small segments share files, and leave them as if each had one of its own."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from session_memory.errors import StoreDamaged
from session_memory.store.segments import (
    DirectorySegments,
    Packed,
    manifest_bytes,
    pack,
    share,
    unpack,
)
from session_memory.store.shared_segments import FEWEST, MOST, SMALL
from session_memory.store.sqlite import SqliteStore, open_store
from session_memory.testing.store_drafts import START, Said, capture, event, texts

COUNT = FEWEST + 4


@pytest.fixture
def folder(tmp_path: Path) -> DirectorySegments:
    return DirectorySegments(str(tmp_path / "segments"))


def text_of(number: int) -> bytes:
    return f"the text of session {number} ".encode() * (number % 7 + 1)


def packed(count: int = COUNT) -> list[Packed]:
    return share([pack(n, text_of(n), f"manifest {n}".encode()) for n in range(1, count + 1)])


def files(folder: DirectorySegments) -> list[Path]:
    return sorted(path for path in Path(folder.root).rglob("*") if path.is_file())


def said(count: int = COUNT) -> list[Said]:
    return [
        Said(f"s{n}", f"/logs/{n}", (event(n, text_of(n).decode()),)) for n in range(1, count + 1)
    ]


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


def test_many_small_segments_are_one_file_and_each_comes_back(folder: DirectorySegments) -> None:
    segments = packed()
    folder.put(segments)
    (path,) = files(folder)
    assert path.suffix == ".segs"
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(folder.names()) == sorted(segment.name for segment in segments)
    for number, segment in enumerate(segments, 1):
        assert unpack(folder, segment.name) == text_of(number)
        assert manifest_bytes(folder, segment.name) == f"manifest {number}".encode()
        assert folder.read(segment.name) == segment.data
        assert folder.read_range(segment.name, -9, 9) == segment.data[-9:]
        assert folder.read_range(segment.name, 3, 10**9) == segment.data[3:]


def test_few_or_large_segments_have_files_of_their_own(folder: DirectorySegments) -> None:
    folder.put(packed(FEWEST - 1))
    assert {path.suffix for path in files(folder)} == {".seg"}
    large = Packed("1-aa.seg", b"x" * (SMALL + 1), 0, b"")
    names = [segment.name for segment in share([large, *packed(FEWEST)])]
    assert names[0] == large.name
    assert len({name.split(".")[1] for name in names[1:]}) == 1


def test_a_file_holds_a_limited_number_of_segments(folder: DirectorySegments) -> None:
    folder.put(packed(MOST + 1))
    assert len(files(folder)) == 2


@pytest.mark.rows("STO-20")
def test_a_deleted_segment_leaves_no_byte_behind(folder: DirectorySegments) -> None:
    segments = packed()
    folder.put(segments)
    (path,) = files(folder)
    before = path.stat()
    gone, *left = segments
    assert folder.delete([gone.name]) == 1
    assert folder.delete([gone.name]) == 0
    data = path.read_bytes()
    assert gone.data not in data
    assert gone.name.encode() not in data
    assert len(data) < before.st_size
    assert folder.written_at(left[0].name) == before.st_mtime_ns // 1_000_000
    assert [folder.read(segment.name) for segment in left] == [segment.data for segment in left]
    with pytest.raises(StoreDamaged, match="is missing"):
        folder.read(gone.name)
    assert folder.delete([segment.name for segment in left]) == len(left)
    assert files(folder) == []


def test_two_that_delete_at_once_do_not_bring_back_what_the_other_deleted(
    folder: DirectorySegments,
) -> None:
    segments = packed(MOST)
    folder.put(segments)
    names = [segment.name for segment in segments]
    start = threading.Barrier(4)

    def delete(mine: list[str]) -> None:
        start.wait()
        for name in mine:
            DirectorySegments(folder.root).delete([name])

    shares = [names[at : at + 16] for at in range(0, 64, 16)]
    threads = [threading.Thread(target=delete, args=(mine,)) for mine in shares]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(folder.names()) == sorted(names[64:])


def test_a_backup_may_bring_a_file_in_parts(folder: DirectorySegments) -> None:
    segments = packed()
    folder.put(segments[:5])
    folder.put(segments[5:])
    assert [folder.read(segment.name) for segment in segments] == [s.data for s in segments]


def test_what_cannot_be_told_from_a_damaged_file_is_no_orphan(folder: DirectorySegments) -> None:
    segments = packed()
    folder.put(segments)
    (path,) = files(folder)
    flip(path, 20)
    assert len(list(folder.names())) == len(segments)
    flip(path, path.stat().st_size - 20)
    assert list(folder.names()) == []
    with pytest.raises(StoreDamaged):
        folder.read(segments[0].name)
    assert folder.delete([segments[0].name]) == 1  # what was forgotten goes, whatever is with it
    assert files(folder) == []


def test_an_interrupted_file_is_removed(folder: DirectorySegments) -> None:
    folder.put(packed())
    (path,) = files(folder)
    left = path.with_name(path.name + ".tmp")
    left.write_bytes(b"half")
    folder.drop_unfinished()
    assert files(folder) == [path]


@pytest.mark.rows("STO-20")
def test_a_flipped_byte_is_found_and_costs_one_text_at_most(
    store: SqliteStore, directory: Path
) -> None:
    sessions = capture(store, *said())
    (path,) = (directory / "segments").rglob("*.segs")
    whole = path.read_bytes()
    for position in range(0, len(whole), 7):
        flip(path, position)
        found = [finding.check for finding in store.fsck()]
        assert found in (["segment_directory"], ["segment_hash"])
        path.write_bytes(whole)
    flip(path, len(whole) - 20)
    (told,) = store.repair("segments", dry_run=False)
    assert not told.lost
    assert path.read_bytes() == whole
    assert store.fsck() == []
    assert [texts(store, session) for session in sessions] == [
        [text_of(n).decode()] for n in range(1, COUNT + 1)
    ]


@pytest.mark.rows("STO-20")
def test_forgetting_one_session_takes_its_text_out_of_the_shared_file(
    store: SqliteStore, directory: Path
) -> None:
    sessions = capture(store, *said())
    (path,) = (directory / "segments").rglob("*.segs")
    before = path.stat().st_size
    store.forget_sessions({sessions[3]})
    store.sweep_orphans()
    assert path.stat().st_size < before
    assert store.fsck() == []
    left = [session for session in sessions if session != sessions[3]]
    assert len(list(store.segments.names())) == len(left)
    assert all(texts(store, session) for session in left)


def test_backup_and_texts_alone_bring_all_sessions_back(
    store: SqliteStore, directory: Path, tmp_path: Path
) -> None:
    sessions = capture(store, *said())
    wanted = [texts(store, session) for session in sessions]
    store.backup(str(tmp_path / "copy"))
    shutil.rmtree(directory / "segments")
    shutil.copytree(tmp_path / "copy" / "segments", directory / "segments")
    with open_store(str(directory), START) as again:
        assert [texts(again, session) for session in sessions] == wanted
        assert again.fsck() == []
