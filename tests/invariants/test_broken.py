"""Each check of `broken` finds a store that was broken on purpose, and lets a whole one pass."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from tests.invariants.broken import Known, broken
from tests.invariants.sessions import write_flavors

from session_memory.store.segments import MAGIC
from session_memory.testing.workspace import Workspace

Damage = Callable[[Workspace], Known | None]


def sql(space: Workspace, *statements: str) -> None:
    db = apsw.Connection(str(space.store_directory / "store.db"))
    for statement in statements:
        db.execute(statement)
    db.close()


def segment_of(space: Workspace) -> Path:
    return max(space.store_directory.rglob("*.seg"), key=lambda path: path.stat().st_size)


def flip_segment(space: Workspace) -> None:
    path = segment_of(space)
    data = bytearray(path.read_bytes())
    data[len(MAGIC) + 20] ^= 4  # in the texts, which come first
    path.write_bytes(data)


def lose_segment(space: Workspace) -> None:
    segment_of(space).unlink()


def lose_digest(space: Workspace) -> None:
    space.set_retention(raw_soft_cap_bytes=1)
    space.sweep()
    sql(space, "DELETE FROM evicted_digest")


def lose_fingerprints(space: Workspace) -> None:
    """Then nobody knows that these events were here, and a replay brings them again."""
    space.set_retention(raw_soft_cap_bytes=1)
    space.sweep()
    sql(space, "DELETE FROM evicted_event")


def change_title(space: Workspace) -> None:
    sql(space, "UPDATE session SET branch = 'elsewhere' WHERE id = 1")


def lose_index_entry(space: Workspace) -> None:
    sql(space, "DELETE FROM event_text WHERE rowid = (SELECT max(id) FROM event WHERE indexed > 0)")


def dangle(space: Workspace) -> None:
    sql(space, "PRAGMA foreign_keys = 0", "UPDATE session SET project_id = 999 WHERE id = 1")


def count_wrong(space: Workspace) -> None:
    sql(space, "UPDATE session SET raw_events = raw_events + 1 WHERE id = 1")


def leak(space: Workspace) -> Known:
    secret = "ghp_" + "q1w2e3r4t5" * 4
    (space.store_directory / "notes.log").write_text(f"used {secret.upper()}")
    return Known(secrets=(secret,))


def leak_into_segment(_space: Workspace) -> Known:
    """A text that stands compressed only, taken for a secret."""
    return Known(secrets=("xxxx490 step 2 done",))


def hide_failure(space: Workspace) -> None:
    space.files()[0].with_name("gone.jsonl").symlink_to(space.root / "nowhere")
    report = space.sweep()
    assert report.failed and report.needs_attention
    report.failed.clear()


def miscount(space: Workspace) -> None:
    assert space.report is not None
    space.report.ingested -= 1


def write_log(space: Workspace) -> Known:
    before = space.log_hashes()
    with space.files()[0].open("ab") as file:
        file.write(b"\n")
    space.sweep()
    return Known(logs=before)


CASES: list[tuple[str, Damage]] = [
    ("I1", flip_segment),
    ("I1", lose_segment),
    ("I2", lose_digest),
    ("I3", lose_fingerprints),
    ("I4", change_title),
    ("I5", lose_index_entry),
    ("I5", dangle),
    ("I5", count_wrong),
    ("I7", leak),
    ("I7", leak_into_segment),
    ("I9", hide_failure),
    ("I9", miscount),
    ("I10", write_log),
]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    space = Workspace(tmp_path_factory.mktemp("whole"))
    write_flavors(space)
    space.sweep()
    return space


def test_a_whole_store_breaks_no_promise(whole: Workspace) -> None:
    assert broken(whole, Known(secrets=("ghp_" + "z" * 36,), logs=whole.log_hashes())) == []


@pytest.mark.parametrize(("promise", "damage"), CASES, ids=[case[1].__name__ for case in CASES])
def test_a_store_broken_on_purpose_is_found_out(
    tmp_path: Path, promise: str, damage: Damage
) -> None:
    space = Workspace(tmp_path)
    write_flavors(space, count=1)
    space.sweep()
    known = damage(space) or Known()
    assert {text.partition(":")[0] for text in broken(space, known)} >= {promise}


def test_a_store_that_is_no_store_is_reported_and_does_not_stop_the_check(
    tmp_path: Path,
) -> None:
    space = Workspace(tmp_path)
    write_flavors(space, count=1)
    space.sweep()
    shutil.rmtree(space.store_directory / "segments")
    (space.store_directory / "store.db").write_bytes(b"no database" * 1000)
    assert len({text.partition(":")[0] for text in broken(space)}) >= 4
