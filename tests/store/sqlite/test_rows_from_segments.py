"""Sessions are told again by their segments alone."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from tests.store.sqlite.test_rebuild import Output, database, repair, space, talk
from tests.store.test_damage import overwrite_root

from session_memory import late_modules
from session_memory.store import segments
from session_memory.store.segments import DirectorySegments, digest_of, unpack
from session_memory.store.sqlite.connection import connect
from session_memory.testing.workspace import Workspace

__all__ = ["space"]


@pytest.mark.rows("STO-14")
def test_segments_alone_tell_the_sessions_again(space: Workspace, capsys: Output) -> None:
    """Neither database nor log is left."""
    parent = talk(20, "said before the fork")
    fork = parent.fork(21)
    fork.prompt("said in the fork")
    space.write(parent, fork)
    space.sweep()
    before = space.dump()
    database(space).unlink()
    for log in space.files():
        log.unlink()
    code, told = repair(capsys)
    assert code == 3, told  # what only the database knew is named
    assert space.dump() == before
    assert space.findings() == []


def without_manifests(space: Workspace) -> None:
    """Turn every segment into one of the first version, as an earlier release wrote it."""
    folder = DirectorySegments(str(space.store_directory / "segments"))
    zstd = late_modules.load_zstd()
    db = connect(str(database(space)))
    for name in list(folder.names()):
        text = unpack(folder, name)
        starts = range(0, len(text), segments.BLOCK_TEXT)
        blocks = [zstd.compress(text[at : at + segments.BLOCK_TEXT]) for at in starts]
        end = (len(text), segments.BLOCK_TEXT, len(blocks), segments.FIRST_MAGIC)
        lengths = struct.pack(f"<{len(blocks)}I", *map(len, blocks))
        data = b"".join((segments.FIRST_MAGIC, *blocks, lengths, struct.pack("<QII8s", *end)))
        Path(folder.path(name)).write_bytes(data)
        db.execute(
            "UPDATE segment SET bytes = ?, hash = ? WHERE name = ?",
            (len(data), digest_of(data), name),
        )
    db.close()


def test_segments_of_the_first_version_are_read_and_never_thrown_away(
    space: Workspace, capsys: Output
) -> None:
    before = space.dump()
    without_manifests(space)
    assert space.dump() == before
    assert space.findings() == []
    database(space).unlink()
    space.files()[0].unlink()
    code, told = repair(capsys)
    assert code == 3
    assert any("1 files of texts fit no event" in text for text in told)
    (kept,) = (space.store_directory / "unclaimed").iterdir()
    assert kept.suffix == ".seg"
    assert len(space.sessions()) == 4
    assert space.findings() == []


def test_lost_rows_of_a_session_come_back_from_its_segments(
    space: Workspace, capsys: Output
) -> None:
    before = space.dump()
    overwrite_root(database(space), "session", "source", "event", "fact", "usage")
    for log in space.files():
        log.unlink()
    code, told = repair(capsys)
    assert code == 0, told
    assert space.dump() == before
    assert space.findings() == []
