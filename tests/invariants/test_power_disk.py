"""The model of a disk itself: what is flushed stays, what is not is old or new, nothing else."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.invariants import power_record
from tests.invariants.power_disk import (
    EMPTY,
    SECTOR,
    TOP,
    Name,
    Operation,
    Rename,
    Resize,
    Sync,
    Write,
    after,
    survivors,
    tree_of,
    unsure,
)

FILES = st.integers(1, 3)
WRITES = st.builds(
    Write, FILES, st.integers(0, 3 * SECTOR), st.binary(min_size=1, max_size=SECTOR * 2)
)
NAMES = st.builds(Name, st.just(TOP), st.sampled_from("abc"), st.none() | FILES)
OPERATIONS = st.lists(
    WRITES
    | st.builds(Resize, FILES, st.integers(0, 2 * SECTOR))
    | st.tuples(NAMES).map(Rename)
    | st.builds(Sync, st.integers(TOP, 3)),
    max_size=12,
).map(tuple)
CHANCES = st.integers(0, 10_000).map(random.Random)


@given(OPERATIONS, CHANCES)
def test_once_everything_is_flushed_nothing_is_lost(
    operations: tuple[Operation, ...], chance: random.Random
) -> None:
    flushed = (*operations, *(Sync(node) for node in range(4)))
    assert unsure(flushed) == frozenset()
    assert tree_of(after(EMPTY, survivors(flushed, chance))) == tree_of(after(EMPTY, flushed))


@given(OPERATIONS, OPERATIONS, CHANCES)
def test_what_was_flushed_before_and_is_not_touched_since_stays(
    before: tuple[Operation, ...], since: tuple[Operation, ...], chance: random.Random
) -> None:
    untouched = [o for o in since if getattr(o, "file", None) != 1 and not isinstance(o, Rename)]
    named: tuple[Operation, ...] = (*before, Rename((Name(TOP, "kept", 1),)), Sync(1), Sync(TOP))
    left = tree_of(after(EMPTY, survivors((*named, *untouched), chance)))
    assert left["kept"] == tree_of(after(EMPTY, named))["kept"]


@given(st.lists(WRITES, min_size=1, max_size=6).map(tuple), CHANCES)
def test_a_sector_holds_zeros_or_what_was_written_to_it(
    writes: tuple[Write, ...], chance: random.Random
) -> None:
    left = after(EMPTY, survivors(writes, chance)).files
    whole = after(EMPTY, writes).files
    for file, content in left.items():
        assert len(content) <= len(whole[file])
        for at, byte in enumerate(content):
            wrote = {
                w.data[at - w.at] for w in writes if w.file == file and 0 <= at - w.at < len(w.data)
            }
            assert byte in {0, *wrote}


@given(CHANCES)
def test_a_rename_happens_whole_or_not_at_all(chance: random.Random) -> None:
    made = (Rename((Name(TOP, "new", 1),)), Write(1, 0, b"x"), Sync(1), Sync(TOP))
    moved = Rename((Name(TOP, "new", None), Name(TOP, "file", 1)))
    left = tree_of(after(EMPTY, survivors((*made, moved), chance)))
    assert left in ({"new": b"x"}, {"file": b"x"})


def test_losses_of_every_kind_are_tried() -> None:
    """Two sectors written to one new file, none flushed: all sixteen outcomes but none else."""
    operations = (Rename((Name(TOP, "f", 1),)), Write(1, 0, b"a" * SECTOR + b"b" * SECTOR))
    seen = {
        tree_of(after(EMPTY, survivors(operations, random.Random(seed)))).get("f", b"no name")
        for seed in range(400)
    }
    a, b, zeros = b"a" * SECTOR, b"b" * SECTOR, bytes(SECTOR)
    assert seen == {b"no name", b"", a, a + b, zeros + b, zeros + zeros}


SCRIPT = """
import os, shutil, sys
from pathlib import Path
from tests.invariants.power_record import Reader, read_records, read_tree, recording
from tests.invariants.power_disk import Sync, after, tree_of
root = Path(sys.argv[1])
(root / "top").mkdir()
(root / "top" / "old").write_bytes(b"old text")
reader = Reader(root, ("top",))
disk = reader.disk()
with recording(root, root / "book"):
    os.chdir(root / "top")
    file = os.open("a", os.O_CREAT | os.O_RDWR)
    os.write(file, b"one"); os.pwrite(file, b"two", 10); os.writev(file, [b"x", b"y"])
    os.ftruncate(file, 12); os.fsync(file); os.fdatasync(file); os.close(file)
    with open("old", "ab") as stream: stream.write(b" and more")
    open("a", "r+b").close()
    with open("cut", "wb") as stream: stream.write(b"long")
    with open("cut", "wb") as stream: stream.write(b"s")
    os.mkdir("d"); os.makedirs("d/e/f"); os.link("a", "d/link"); os.replace("old", "d/e/old")
    os.rename("d/e", "d/g"); os.unlink("a"); os.rmdir("d/g/f")
    Path("d/reused").write_bytes(b"1"); os.unlink("d/reused"); Path("d/reused").write_bytes(b"22")
    os.makedirs("gone/x"); Path("gone/x/y").write_bytes(b"z"); shutil.rmtree("gone")
    directory = os.open(".", os.O_RDONLY); os.fsync(directory); os.close(directory)
operations = tuple(reader.operations(read_records(root / "book")))
assert tree_of(after(disk, operations)) == read_tree(root, ("top",)), operations
assert sum(isinstance(o, Sync) for o in operations) == 3
print(sorted(tree_of(after(disk, operations))))
"""


@pytest.mark.skipif(power_record.missing() is not None, reason=str(power_record.missing()))
def test_the_recorder_sees_every_way_to_change_a_file(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(root)],
        env={
            **os.environ,
            "LD_PRELOAD": str(power_record.compiled(tmp_path)),
            "PYTHONPATH": str(Path(__file__).parents[2]),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "top/d/g/old" in done.stdout
