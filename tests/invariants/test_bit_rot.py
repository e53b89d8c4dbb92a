"""One flipped bit: found by fsck, and what was hit is an error or unchanged, never a wrong text."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest
from tests.invariants.broken import DAMAGE, Dump
from tests.invariants.flows import write_logs
from tests.invariants.sessions import write_flavors
from tests.invariants.sizes import SIZES, record

from session_memory.store import shared_segments
from session_memory.testing.workspace import Workspace


@pytest.fixture
def rotten(tmp_path: Path) -> Workspace:
    return swept(tmp_path)


def swept(folder: Path) -> Workspace:
    space = Workspace(folder)
    write_logs(space.claude, sessions=1)
    write_flavors(space, count=1)
    space.sweep()
    return space


def flip(path: Path, chance: random.Random) -> int:
    data = bytearray(path.read_bytes())
    at = chance.randrange(len(data))
    data[at] ^= 1 << chance.randrange(8)
    path.write_bytes(data)
    return at


def served(space: Workspace) -> Dump | None:
    """The whole content as a reader gets it, or None when reading is refused."""
    try:
        return space.dump()
    except DAMAGE:
        return None


def findings(space: Workspace) -> list[str]:
    try:
        return space.findings()
    except DAMAGE as error:
        return [str(error)]


@pytest.mark.parametrize(("fewest", "kind"), [(1_000, "seg"), (1, "segs")])
def test_a_flipped_bit_in_a_segment_is_always_found_and_never_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fewest: int, kind: str
) -> None:
    monkeypatch.setattr(shared_segments, "FEWEST", fewest)
    rotten = swept(tmp_path)
    whole, chance = rotten.dump(), random.Random(SIZES.seed)
    segments = sorted(rotten.store_directory.rglob(f"*.{kind}"))
    refused = 0
    for number in range(SIZES.flips):
        path = chance.choice(segments)
        good = path.read_bytes()
        at = flip(path, chance)
        content = served(rotten)
        refused += content is None
        assert content in (None, whole), f"flip {number}: {path.name} byte {at} is served"
        assert findings(rotten) != [], f"flip {number}: {path.name} byte {at} is not found"
        path.write_bytes(good)
    assert findings(rotten) == []
    record(f"bit flips, *.{kind}", flips=SIZES.flips, refused=refused, problems=0, seed=SIZES.seed)


def test_a_flipped_bit_in_the_write_ahead_log_is_never_served(rotten: Workspace) -> None:
    """A frame whose checksum fails, and all behind it, count as never written: older, but true."""
    directory, kept = rotten.store_directory, rotten.root / "kept"
    states: list[Dump] = [rotten.dump()]
    with rotten.store() as holder:  # keeps the log from being folded in when the sweep ends
        for seed in range(3):
            write_logs_more(rotten, seed)
            rotten.sweep()
            states.append(rotten.dump())
        shutil.copytree(directory, kept)
        assert holder.info().sessions
    chance = random.Random(SIZES.seed)
    older = 0
    for number in range(SIZES.flips):
        space = rotten.with_store("flipped")
        shutil.rmtree(space.store_directory, ignore_errors=True)
        shutil.copytree(kept, space.store_directory)
        (space.store_directory / "store.db-shm").unlink(missing_ok=True)
        flip(space.store_directory / "store.db-wal", chance)
        content = served(space)
        assert content is None or is_a_past_of(content, states[-1]), f"flip {number}"
        older += content != states[-1]
    record(
        "bit flips, write-ahead log",
        flips=SIZES.flips,
        lost_frames=older,
        problems=0,
        seed=SIZES.seed,
    )


def write_logs_more(space: Workspace, seed: int) -> None:
    from tests.invariants.sessions import claude

    space.write(claude(700 + seed))


def is_a_past_of(content: Dump, newest: Dump) -> bool:
    """Whether each session that is there says nothing that the newest state does not."""
    known = {entry["session"]["external_id"]: entry for entry in newest}
    for entry in content:
        now = known.get(entry["session"]["external_id"])
        if now is None:
            return False
        texts = [event["text"] for event in entry["events"]]
        if texts != [event["text"] for event in now["events"]][: len(texts)]:
            return False
    return True


@pytest.mark.rows("STO-19")
def test_a_flipped_bit_in_the_database_is_found_and_never_served(rotten: Workspace) -> None:
    """Only a page that nobody reads, being free, may be damaged without a word."""
    whole, chance = rotten.dump(), random.Random(SIZES.seed)
    database = rotten.store_directory / "store.db"
    good = database.read_bytes()
    found = harmless = unnoticed = served_wrong = 0
    for _ in range(SIZES.flips):
        flip(database, chance)
        seen, content = bool(findings(rotten)), served(rotten)
        for beside in ("-wal", "-shm"):
            database.with_name(database.name + beside).unlink(missing_ok=True)
        database.write_bytes(good)
        found += seen
        harmless += not seen and content == whole
        unnoticed += not seen and content != whole
        served_wrong += content not in (None, whole)
    record(
        "bit flips, database",
        flips=SIZES.flips,
        found=found,
        harmless=harmless,
        value_changed_unnoticed=unnoticed,
        served_wrong=served_wrong,
        seed=SIZES.seed,
    )
    assert (unnoticed, served_wrong) == (0, 0)
