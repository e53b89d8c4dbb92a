"""Does a piece of work, then cuts the power at every moment of it, on the model of a disk.

    LD_PRELOAD=power_recorder.so python -m tests.invariants.power DIRECTORY ORDER

ORDER is an `Order` as JSON. A program of its own, since the recorder must be there before anything
else. Prints what it tried and found.
"""

from __future__ import annotations

import contextlib
import ctypes
import random
import sys
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

import apsw
import msgspec
from tests.invariants.broken import DAMAGE, Dump, difference, everything_stored
from tests.invariants.copying import WORKS as COPIES
from tests.invariants.copying import Scene, backup_problems, restore_problems
from tests.invariants.flows import FLOWS, Flow, start_of
from tests.invariants.power_disk import (
    Disk,
    Mark,
    Operation,
    Tree,
    after,
    named,
    survivors,
    tree_of,
    without_syncs,
)
from tests.invariants.power_record import Reader, read_records, read_tree, recording, write_tree

from session_memory.testing.workspace import Workspace

DONE, COMMITTED = "done", "committed"


class Order(msgspec.Struct, frozen=True):
    """What is to be tried."""

    work: str
    ways: int
    """Seeded legal losses; every fourth after the end of the work."""
    prefixes: int | None = None
    """Images in which everything up to some operation is there; None for one after each."""
    again: int = 1
    """In every so-manieth image the work is done again and must come to the same store."""
    seed: int = 1
    forgetting: str = ""
    """End of the names of files that the program is to forget to flush; `/` for directories."""


class Outcome(msgspec.Struct, frozen=True):
    """What was found."""

    operations: int
    images: int
    problems: list[str]


class Recorded(msgspec.Struct, frozen=True):
    """A disk, and everything that a piece of work did to it."""

    disk: Disk
    operations: tuple[Operation, ...]

    def marks(self, text: str) -> list[int]:
        """How many operations had happened at each mark."""
        places = enumerate(self.operations, 1)
        return [place for place, operation in places if operation == Mark(text)]


class Image(msgspec.Struct, frozen=True):
    """A disk after a power cut."""

    name: str
    cut: int
    """How many operations had happened."""
    tree: Tree


class FlowBench:
    """Work on a store alone, as in flows.py."""

    tops = ("store",)

    def __init__(self, root: Path, flow: Flow) -> None:
        self.root = root
        self.flow = flow
        self.space = Workspace(root)
        flow.prepare(self.space)
        self.finished: Dump = []
        self.commits: list[int] = []
        self.states: list[Dump | None] = []

    def start(self) -> None:
        start_of(self.flow, self.space)

    def work(self) -> None:
        self.flow.work(self.space)

    def learn(self, recorded: Recorded) -> None:
        """What every commit left; the disk is as the work left it."""
        self.flow.finish(self.space)
        self.finished = self.space.dump()
        self.commits = [0, *recorded.marks(COMMITTED), len(recorded.operations)]
        for cut in self.commits:
            tree = tree_of(after(recorded.disk, recorded.operations[:cut]))
            write_tree(tree, self.root, self.tops)
            self.states.append(self.dump())

    def dump(self) -> Dump | None:
        """What a reader gets; None where no store was made yet."""
        database = self.space.store_directory / "store.db"
        if not (database.exists() and database.stat().st_size):
            return None
        return self.space.dump()

    def problems(self, image: Image, *, done: bool, again: bool) -> Iterator[str]:
        if done:
            yield from still_there(image.tree, self.flow.gone)
        last = max(place for place, at in enumerate(self.commits) if at <= image.cut)
        allowed = self.states[last : last + 2]  # the next may have been on its way
        held = self.dump()
        if held not in allowed:
            yield f"not as of commit {last} or the next: {lost(held, allowed)}"
        if held is not None:
            with self.space.store() as store:
                found = [finding for finding in store.fsck() if finding.severity == "error"]
            yield from (f"{finding.check}: {finding.detail}" for finding in found)
        if done and self.flow.gone:
            stored = b"\n".join(everything_stored(self.space.store_directory))
            yield from (f"{text} is stored" for text in self.flow.gone if text.encode() in stored)
        if again:
            yield from self.problems_again(done=done)

    def problems_again(self, *, done: bool) -> Iterator[str]:
        """Done again, the work comes to the same store and leaves nothing beside it."""
        if not done:
            self.flow.work(self.space)
        self.flow.finish(self.space)
        wrong = [*self.space.findings(), *difference(self.space.dump(), self.finished)]
        wrong += [path.name for path in self.space.store_directory.rglob("*.tmp")]
        yield from (f"done again: {text}" for text in wrong)


def still_there(tree: Tree, texts: tuple[str, ...]) -> Iterator[str]:
    """Texts that stand in the bytes of a disk."""
    for path, content in tree.items():
        yield from (f"{text} is in {path}" for text in texts if text.encode() in (content or b""))


def lost(held: Dump | None, allowed: list[Dump | None]) -> str:
    """How a store differs from what it should be."""
    if held is None or allowed[0] is None:
        return "there is no store" if held is None else "there is a store"
    return "; ".join(difference(held, allowed[0])[:3])


class CopyBench:
    """A backup, one over an older one, or a restore, as in copying.py."""

    tops = ("store", "copies")

    def __init__(self, root: Path, name: str) -> None:
        self.root = root
        self.name = name
        self.scene = Scene(root)

    def start(self) -> None:
        self.scene.set(with_backup=self.name != "backup")

    def work(self) -> None:
        code, said = COPIES[self.name](self.scene)
        if code:
            raise SystemExit(f"the work fails even undisturbed: {said}")

    def learn(self, recorded: Recorded) -> None:
        """Nothing: the scene knows both stores."""

    def problems(self, image: Image, *, done: bool, again: bool) -> Iterator[str]:
        scene = self.scene
        if self.name == "restore":
            if done and scene.space.dump() != scene.older:
                yield "the restore that was reported is not there"
            yield from restore_problems(scene, self.name)
            return
        if done and scene.dump_of(scene.target) != scene.newer:
            yield "the backup that was reported is not there"
        yield from backup_problems(scene, self.name)


Bench = FlowBench | CopyBench
BENCHES: dict[str, Callable[[Path], Bench]] = {
    **{name: lambda root, flow=flow: FlowBench(root, flow) for name, flow in FLOWS.items()},
    **{name: lambda root, name=name: CopyBench(root, name) for name in COPIES},
}


@contextlib.contextmanager
def marking_commits(recorder: ctypes.CDLL) -> Generator[None]:
    """Within the block each commit that SQLite has acknowledged is marked in the record."""

    def told(event: dict[str, Any]) -> None:
        if str(event["sql"]).startswith("COMMIT"):
            recorder.power_mark(COMMITTED.encode())

    def hook(connection: Any) -> None:  # apsw's own annotation leaves the event unknown
        connection.trace_v2(apsw.SQLITE_TRACE_PROFILE, told)

    apsw.connection_hooks.append(hook)
    try:
        yield
    finally:
        apsw.connection_hooks.remove(hook)


def record(bench: Bench) -> Recorded:
    """Do the work once, undisturbed; the record must explain every byte that it left."""
    bench.start()
    reader = Reader(bench.root, bench.tops)
    disk, book = reader.disk(), bench.root / "record"
    with recording(bench.root, book) as recorder, marking_commits(recorder):
        bench.work()
        recorder.power_mark(DONE.encode())
    operations = tuple(reader.operations(read_records(book)))
    told, seen = tree_of(after(disk, operations)), read_tree(bench.root, bench.tops)
    wrong = [path for path in told.keys() | seen.keys() if told.get(path, 0) != seen.get(path, 0)]
    if wrong:
        raise SystemExit(f"the record does not explain {sorted(wrong)[:5]}")
    return Recorded(disk, operations)


def prefixes(recorded: Recorded, number: int | None, chance: random.Random) -> Iterator[Image]:
    """Nothing is lost of what was done before the cut; cuts that change nothing are left out."""
    cuts = list(range(len(recorded.operations) + 1))
    if number is not None:
        cuts = sorted(chance.sample(cuts, min(number, len(cuts))))
    last: Tree | None = None
    for cut in cuts:
        tree = tree_of(after(recorded.disk, recorded.operations[:cut]))
        if tree != last:
            yield Image(f"prefix {cut}", cut, tree)
        last = tree


def ways(recorded: Recorded, order: Order) -> Iterator[Image]:
    """Seeded legal losses."""
    count = len(recorded.operations)
    for way in range(order.ways):
        chance = random.Random(f"{order.seed}-{way}")
        cut = chance.randrange(count + 1) if way % 4 else count
        left = survivors(recorded.operations[:cut], chance)
        yield Image(f"way {way}, cut {cut}", cut, tree_of(after(recorded.disk, left)))


def forgetful(recorded: Recorded, end: str) -> Recorded:
    """The same work by a program that does not flush what ends so."""
    if not end:
        return recorded
    nodes = named(recorded.disk, recorded.operations, end)
    return Recorded(recorded.disk, without_syncs(recorded.operations, nodes))


def cut_power(root: Path, order: Order) -> Outcome:
    """Do the work, and look at each image of it."""
    bench = BENCHES[order.work](root)
    recorded = forgetful(record(bench), order.forgetting)
    bench.learn(recorded)
    reported = recorded.marks(DONE)[0]
    count, found = 0, list[str]()
    images = [prefixes(recorded, order.prefixes, random.Random(order.seed)), ways(recorded, order)]
    for image in (image for some in images for image in some):
        write_tree(image.tree, root, bench.tops)
        done, again = image.cut >= reported, count % order.again == 0
        count += 1
        try:
            wrong = list(bench.problems(image, done=done, again=again))
        except DAMAGE as error:
            wrong = [f"{type(error).__name__}: {error}"]
        found += [f"{image.name}: {text}" for text in wrong]
    return Outcome(len(recorded.operations), count, found)


if __name__ == "__main__":
    place = Path(sys.argv[1]).resolve()
    place.mkdir(parents=True, exist_ok=True)
    outcome = cut_power(place, msgspec.json.decode(sys.argv[2], type=Order))
    print(msgspec.json.encode(outcome).decode())
