"""Forget marks outlive the database: in the file beside it, merged in any order, never as text."""

from __future__ import annotations

import shutil
import stat
import sys
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.core.pauses import Pause, begin, is_paused, merge_pauses
from session_memory.errors import Refused, StoreDamaged
from session_memory.ingest.pauses import read_pauses, write_pauses
from session_memory.store import marks
from session_memory.store.marks import Forgotten, Keys, Marks
from session_memory.testing.workspace import Workspace

WORD = "zebrawood"

unhurried = settings(suppress_health_check=[HealthCheck.too_slow])
"""A machine that is busy with other work makes its examples slowly."""

numbers = st.frozensets(st.integers(-(2**63), 2**63 - 1), max_size=5)
keys = st.builds(Keys, st.sampled_from([b"a" * 32, b"b" * 32]), st.sampled_from([b"t" * 32, b""]))
pauses = st.lists(
    st.builds(Pause, st.integers(0, 9), st.none() | st.integers(0, 20)),
    max_size=4,
    unique_by=lambda pause: pause.since,
).map(lambda found: tuple(sorted(found, key=lambda pause: pause.since)))
any_marks = st.builds(
    Marks, st.dictionaries(keys, st.builds(Forgotten, numbers, numbers), max_size=3), pauses
)


@unhurried
@given(any_marks, any_marks, any_marks)
@pytest.mark.rows("BAK-02")
def test_merging_marks_is_a_union(one: Marks, two: Marks, three: Marks) -> None:
    assert marks.merge(one, two) == marks.merge(two, one)
    assert marks.merge(marks.merge(one, two), three) == marks.merge(one, marks.merge(two, three))
    both = marks.merge(one, two)
    assert marks.merge(both, one) == both
    for key, forgotten in one.by_key.items():
        assert forgotten.events <= both.under(key.fingerprint).events
        assert forgotten.sessions <= both.under(key.fingerprint).sessions


@unhurried
@given(any_marks, st.none() | keys)
def test_marks_come_back_from_their_file_as_they_were(found: Marks, own: Keys | None) -> None:
    data, checksum = marks.encode(found, own)
    read = marks.decode(data, "a file")
    assert (read.checksum, read.keys, read.marks.pauses) == (checksum, own, found.pauses)
    assert marks.merge(read.marks, found) == read.marks
    assert {k: v for k, v in read.marks.by_key.items() if v} == {
        k: v for k, v in found.by_key.items() if v
    }


@unhurried
@given(pauses, st.integers(0, 9), st.none() | st.integers(10, 20))
def test_a_pause_that_begins_is_not_lost_in_a_merge(
    before: tuple[Pause, ...], now: int, until: int | None
) -> None:
    after = begin(before, now, until)
    assert merge_pauses(before, after) == tuple(sorted(after, key=lambda pause: pause.since))
    assert is_paused(merge_pauses(after, before), now)


def test_a_pause_that_ended_stays_ended() -> None:
    assert merge_pauses((Pause(1),), (Pause(1, 5),)) == (Pause(1, 5),)


def test_every_flipped_byte_of_the_file_is_noticed() -> None:
    known = Keys(b"k" * 32, b"t" * 32)
    some = Marks({known: Forgotten(frozenset({1, -2}), frozenset({3}))}, (Pause(1, 2),))
    data, _ = marks.encode(some, known)
    for place in range(len(data) - 1):  # the last byte ends the line and says nothing
        for bit in (0x01, 0x10):
            changed = bytearray(data)
            changed[place] ^= bit
            with pytest.raises((StoreDamaged, Refused)):
                marks.decode(bytes(changed), "a file")
    for length in range(len(data) - 1):
        with pytest.raises(StoreDamaged):
            marks.decode(data[:length], "a file")


def test_a_file_of_a_newer_program_is_refused(tmp_path: Path) -> None:
    data, _ = marks.encode(Marks(), None)
    newer = data.replace(b'"format":1', b'"format":2', 1)
    (tmp_path / marks.NAME).write_bytes(newer)
    with pytest.raises(Refused, match="newer session-memory"):
        marks.read_marks(str(tmp_path))


# with a store


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    space = Workspace(tmp_path)
    for number, text in ((1, f"I moved to {WORD}"), (2, "stay here")):
        log = ClaudeLog(number)
        log.prompt(text)
        log.say(f"understood: {text}")
        space.write(log)
    space.sweep()
    return space


FORGOTTEN = ClaudeLog(1).session_id


def marks_file(space: Workspace) -> Path:
    return space.store_directory / marks.NAME


def test_the_first_sweep_writes_the_file_and_the_next_leaves_it(space: Workspace) -> None:
    path = marks_file(space)
    before = path.stat()
    if sys.platform != "win32":
        assert stat.S_IMODE(before.st_mode) == 0o600
    space.sweep()
    assert path.stat() == before
    path.unlink()  # as in a store of an older version
    space.sweep()
    assert path.exists()


@pytest.mark.rows("BAK-02")
def test_the_file_says_nothing_of_what_was_forgotten(space: Workspace) -> None:
    size = marks_file(space).stat().st_size
    space.forget(sessions=(FORGOTTEN,))
    said = marks_file(space).read_text(encoding="ascii")
    assert len(said) > size
    assert WORD not in said and FORGOTTEN not in said
    assert str(space.claude) not in said


@pytest.mark.rows("BAK-01")
@pytest.mark.parametrize("kind", ["custom", "ai"])
def test_a_title_that_held_a_forgotten_text_does_not_come_back(
    space: Workspace, kind: Literal["custom", "ai"]
) -> None:
    """Titles are no events: the log states them in records of their own."""
    log = ClaudeLog(3)
    log.prompt("where do I live")
    log.title(f"Moving to {WORD}", kind)
    other = ClaudeLog(4)
    other.prompt("something else")
    other.title("Something else")
    space.write(log, other)
    space.sweep()
    assert WORD in str(space.session(log.session_id).title)
    with space.store() as store:
        store.backup(str(space.root / "older"))
    space.forget(text=WORD)

    def nothing_is_left() -> None:
        with space.store() as store:
            assert store.traces(WORD) == []
        assert space.session(other.session_id).title == "Something else"

    nothing_is_left()
    log.prompt("and now")  # a rewritten log is read again whole
    (path,) = space.write(log)
    path.write_bytes(path.read_bytes().replace(b"where do", b"where did"))
    space.sweep()
    nothing_is_left()
    for database in space.store_directory.glob("store.db*"):
        database.unlink()
    shutil.rmtree(space.store_directory / "segments")
    space.sweep()
    nothing_is_left()
    for database in space.store_directory.glob("store.db*"):
        database.unlink()
    shutil.rmtree(space.store_directory / "segments")
    shutil.copy(space.root / "older" / "store.db", space.store_directory)
    shutil.copytree(space.root / "older" / "segments", space.store_directory / "segments")
    space.sweep()
    nothing_is_left()


def test_a_damaged_file_stops_a_new_store(space: Workspace) -> None:
    path = marks_file(space)
    path.write_bytes(path.read_bytes().replace(b'"own":0', b'"own":1'))
    for database in space.store_directory.glob("store.db*"):
        database.unlink()
    with pytest.raises(StoreDamaged, match="checksum"):
        space.sweep()


# pauses


@pytest.mark.rows("BAK-01")
def test_pauses_outlive_their_own_file(space: Workspace) -> None:
    directory = str(space.store_directory)
    write_pauses(directory, (Pause(1, 2), Pause(3)))
    (space.store_directory / "pauses.json").unlink()
    assert read_pauses(directory) == (Pause(1, 2), Pause(3))


def test_pauses_of_an_older_store_are_copied_by_its_next_sweep(space: Workspace) -> None:
    marks_file(space).unlink()
    (space.store_directory / "pauses.json").write_text('[{"since":1,"until":2}]', encoding="ascii")
    space.sweep()
    (space.store_directory / "pauses.json").unlink()
    assert read_pauses(str(space.store_directory)) == (Pause(1, 2),)
