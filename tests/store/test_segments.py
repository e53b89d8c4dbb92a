"""Segment files: right text or an error, whole files or none, nothing outside their directory."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from session_memory.errors import StoreDamaged
from session_memory.store import segments as module
from session_memory.store.fresh_texts import FreshTexts
from session_memory.store.segments import (
    MAGIC,
    DirectorySegments,
    Packed,
    SegmentReader,
    digest_of,
    pack,
    session_of,
    unpack,
)

fast = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
BLOCK = 64


@pytest.fixture
def folder(tmp_path: Path) -> DirectorySegments:
    return DirectorySegments(str(tmp_path / "segments"))


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks so small that a short text has several."""
    monkeypatch.setattr(module, "BLOCK_TEXT", BLOCK)


def file_of(folder: DirectorySegments, name: str) -> Path:
    (path,) = Path(folder.root).rglob(name)
    return path


def put(folder: DirectorySegments, text: bytes, session: int = 1) -> str:
    packed = pack(session, text)
    folder.put([packed])
    return packed.name


@fast
@given(st.binary(max_size=1000), st.integers(1, 2**31))
def test_a_text_comes_back_whole(
    folder: DirectorySegments, small_blocks: None, text: bytes, session: int
) -> None:
    packed = pack(session, text)
    folder.put([packed])
    assert unpack(folder, packed.name) == text
    assert (packed.text_bytes, packed.digest) == (len(text), digest_of(folder.read(packed.name)))


@fast
@given(st.binary(min_size=1, max_size=400), st.data())
def test_any_range_comes_back_across_block_borders(
    folder: DirectorySegments, small_blocks: None, text: bytes, data: st.DataObject
) -> None:
    name = put(folder, text)
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, len(text) - start))
    assert SegmentReader(folder).text(name, start, length) == text[start : start + length]


@pytest.mark.parametrize("start", [BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK - 1])
@pytest.mark.parametrize("length", [1, 2, BLOCK, BLOCK + 1])
def test_ranges_at_block_borders(
    folder: DirectorySegments, small_blocks: None, start: int, length: int
) -> None:
    text = bytes(index % 251 for index in range(4 * BLOCK))
    name = put(folder, text)
    assert SegmentReader(folder).text(name, start, length) == text[start : start + length]


def test_a_large_text_is_cut_into_blocks_and_read_in_part(folder: DirectorySegments) -> None:
    text = os.urandom(1000) * 400
    name = put(folder, text)
    reader = SegmentReader(folder)
    assert reader.text(name, 131_000, 200) == text[131_000:131_200]
    assert reader.text(name, len(text) - 1, 1) == text[-1:]


def test_more_segments_than_the_reader_keeps(folder: DirectorySegments, small_blocks: None) -> None:
    texts = {put(folder, bytes([index]) * 3 * BLOCK): index for index in range(40)}
    reader = SegmentReader(folder)
    for _ in range(2):
        for name, index in texts.items():
            assert reader.text(name, BLOCK - 1, 2) == bytes([index]) * 2


@pytest.mark.parametrize(("offset", "length"), [(-1, 2), (0, 11), (10, 1), (99, 1)])
def test_a_range_outside_the_text_is_damage(
    folder: DirectorySegments, offset: int, length: int
) -> None:
    name = put(folder, b"0123456789")
    with pytest.raises(StoreDamaged):
        SegmentReader(folder).text(name, offset, length)


@pytest.mark.rows("STO-01")
def test_a_flipped_bit_anywhere_is_an_error_or_harmless_but_never_another_text(
    folder: DirectorySegments, small_blocks: None
) -> None:
    text = b"".join(b"line %d of some text\n" % index for index in range(12))
    packed = pack(1, text)
    folder.put([packed])
    path = file_of(folder, packed.name)
    refused = 0
    for position in range(len(packed.data)):
        for bit in (0, 3, 7):
            broken = bytearray(packed.data)
            broken[position] ^= 1 << bit
            path.write_bytes(broken)
            assert digest_of(folder.read(packed.name)) != packed.digest  # what fsck compares
            for start in range(0, len(text) - 5, 17):
                try:
                    assert SegmentReader(folder).text(packed.name, start, 5) == text[start:][:5]
                except StoreDamaged:
                    refused += 1
    assert refused > len(packed.data)


def test_a_file_cut_short_anywhere_is_damage(folder: DirectorySegments, small_blocks: None) -> None:
    packed = pack(1, b"abc" * 100)
    folder.put([packed])
    path = file_of(folder, packed.name)
    for size in range(len(packed.data)):
        path.write_bytes(packed.data[:size])
        with pytest.raises(StoreDamaged):
            unpack(folder, packed.name)


def test_a_wrong_trailer_is_damage(folder: DirectorySegments) -> None:
    packed = pack(1, b"text")
    folder.put([packed])
    path = file_of(folder, packed.name)
    path.write_bytes(packed.data[: -len(MAGIC)] + b"SMSEG\x09\r\n")
    with pytest.raises(StoreDamaged, match="trailer"):
        unpack(folder, packed.name)
    path.write_bytes(b"")
    with pytest.raises(StoreDamaged, match="cut short"):
        unpack(folder, packed.name)


def test_a_missing_segment_is_damage(folder: DirectorySegments) -> None:
    name = pack(1, b"text").name
    for read in (folder.read, lambda n: folder.read_range(n, 0, 1), lambda n: unpack(folder, n)):
        with pytest.raises(StoreDamaged, match="missing"):
            read(name)
    assert list(folder.names()) == []
    assert folder.delete([name]) == 0


@pytest.mark.parametrize(
    "name",
    [
        "",
        "../../etc/passwd",
        "1-../../x.seg",
        "1-ab/../cd.seg",
        "/1-ab.seg",
        "1-ab.seg/",
        "1-ab.seg\n",
        "1-ab.txt",
        "zz-ab.seg",
        "²-ab.seg",
        "1-\0.seg",
        "1-.seg",
        "-ab.seg",
        "1-AB.seg",
    ],
)
def test_a_name_that_is_none_of_ours_is_refused(folder: DirectorySegments, name: str) -> None:
    with pytest.raises(StoreDamaged, match="not a segment name"):
        folder.read(name)
    with pytest.raises(StoreDamaged, match="not a segment name"):
        folder.delete([name])
    with pytest.raises(StoreDamaged, match="not a segment name"):
        folder.put([Packed(name, b"x", 1, b"")])
    assert not Path(folder.root).exists()


def test_equal_texts_never_share_a_name() -> None:
    names = {pack(7, b"the same").name for _ in range(50)}
    assert len(names) == 50
    assert all(name.startswith("7_") for name in names)


@pytest.mark.parametrize("count", [1, 20])
def test_a_write_that_fails_before_the_rename_leaves_no_segment(
    folder: DirectorySegments, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    def fail(source: str, target: str) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        folder.put([pack(index, b"text") for index in range(count)])
    assert list(folder.names()) == []
    monkeypatch.undo()
    folder.drop_unfinished()
    assert [path for path in Path(folder.root).rglob("*") if path.is_file()] == []


def test_a_write_is_flushed_before_its_rename(
    folder: DirectorySegments, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, replace = os.fsync, os.replace

    def note_fsync(descriptor: int) -> None:
        steps.append("directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def note_replace(source: str, target: str) -> None:
        steps.append("rename")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    put(folder, b"text")
    assert steps[-3:] == ["file", "rename", "directory"]
    steps.clear()
    name = put(folder, b"more of the same session")
    assert steps == ["file", "rename", "directory"]
    steps.clear()
    folder.delete([name])
    assert steps == ["directory"]


def test_listing_touches_nothing_and_strange_files_stay(folder: DirectorySegments) -> None:
    name = put(folder, b"text")
    inside = file_of(folder, name).parent
    unfinished, strange = inside / f"{pack(1, b'x').name}.tmp", inside / "notes.seg"
    unfinished.write_bytes(b"half")
    strange.write_bytes(b"mine")
    assert list(folder.names()) == [name]
    assert unfinished.exists()
    folder.drop_unfinished()
    assert not unfinished.exists()
    assert strange.read_bytes() == b"mine"
    assert unpack(folder, name) == b"text"


def test_a_link_in_the_place_of_a_new_file_is_not_followed(
    folder: DirectorySegments, tmp_path: Path
) -> None:
    packed = pack(1, b"text")
    victim = tmp_path / "victim"
    victim.write_text("mine", encoding="utf-8")
    os.makedirs(os.path.join(folder.root, "00"))
    os.symlink(victim, os.path.join(folder.root, "00", packed.name + ".tmp"))
    with pytest.raises(OSError, match="symbolic"):
        folder.put([packed])
    assert victim.read_text(encoding="utf-8") == "mine"


def test_deleting_says_how_many_there_were(folder: DirectorySegments) -> None:
    names = [put(folder, b"text", index) for index in (1, 2, 257)]
    assert sorted(folder.names()) == sorted(names)
    assert folder.delete([names[0], names[0], names[2]]) == 2
    assert list(folder.names()) == [names[1]]


def test_what_was_just_written_is_read_without_its_file(folder: DirectorySegments) -> None:
    reader = SegmentReader(folder)
    packed = pack(1, b"a text just written")
    reader.fresh.keep(packed.name, b"a text just written", {2: "text"})
    assert reader.text(packed.name, 2, 4) == b"text"  # it was never put
    assert reader.decoded(packed.name, 2, 4) == "text"
    assert reader.decoded(packed.name, 7, 4) == "just"
    with pytest.raises(StoreDamaged):
        reader.text(packed.name, 2, 400)
    reader.fresh.let_go()
    with pytest.raises(StoreDamaged):
        reader.decoded(packed.name, 2, 4)


def test_only_so_much_is_kept_at_hand(
    folder: DirectorySegments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FreshTexts, "MOST_BYTES", 8)
    reader = SegmentReader(folder)
    reader.fresh.keep("1-small", b"sixsix", {})
    reader.fresh.keep("1-large", b"too much", {})
    assert reader.text("1-small", 0, 3) == b"six"
    with pytest.raises(StoreDamaged):
        reader.text("1-large", 0, 3)


def test_sessions_in_a_row_share_a_folder(folder: DirectorySegments) -> None:
    folder.put([pack(session, b"text") for session in range(1, 256)])
    folder.put([pack(256, b"text")])
    assert sorted(path.name for path in Path(folder.root).iterdir()) == ["00", "01"]


def test_segments_of_older_stores_stay_in_their_folders(folder: DirectorySegments) -> None:
    packed = pack(0x1A2, b"said long ago")
    old = msgspec.structs.replace(packed, name=packed.name.replace("_", "-"))
    folder.put([old, packed])
    assert file_of(folder, old.name).parent.name == "a2"
    assert file_of(folder, packed.name).parent.name == "01"
    assert unpack(folder, old.name) == unpack(folder, packed.name) == b"said long ago"
    assert session_of(old.name) == session_of(packed.name) == 0x1A2
    assert set(folder.names()) == {old.name, packed.name}
    assert folder.delete([old.name]) == 1
    assert list(folder.names()) == [packed.name]


def test_another_name_belongs_to_no_session() -> None:
    with pytest.raises(StoreDamaged):
        session_of("../1_00.seg")
