"""Logs that grow, rotate and come back while they are swept, under a clock that steps."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.invariants.broken import broken
from tests.invariants.sessions import LOGS, claude, log_file, write_flavors
from tests.invariants.sizes import SIZES, record

from session_memory.testing.workspace import DAY_MS, NOW, Workspace

HOUR_MS = DAY_MS // 24


class LiveTail(threading.Thread):
    """Writes a file in chunks of 1 to 4,096 bytes while somebody else reads it."""

    def __init__(self, path: Path, content: bytes, chance: random.Random) -> None:
        super().__init__(daemon=True)
        self._path, self._content, self._chance = path, content, chance
        self.leave = threading.Semaphore(0)
        """One for every chunk: handed out sweep by sweep, so that they fall into all of them."""

    def run(self) -> None:
        at = 0
        while at < len(self._content):
            self.leave.acquire()
            size = self._chance.choice((1, 7, 60, 400, self._chance.randint(1, 4096)))
            with self._path.open("ab") as file:
                file.write(self._content[at : at + size])
            at += size


@pytest.mark.parametrize("flavor", LOGS)
def test_a_log_that_grows_while_it_is_swept_ends_as_if_it_had_stood_still(
    tmp_path: Path, flavor: str
) -> None:
    chance = random.Random(f"{SIZES.seed} {flavor}")
    sweeps = 0
    for number in range(SIZES.tails):
        space = Workspace(tmp_path / str(number))
        path = log_file(flavor, number, space.flavor_home(flavor), steps=8)
        content = path.read_bytes()
        path.write_bytes(b"")
        tail = LiveTail(path, content, chance)
        tail.start()
        while tail.is_alive():
            tail.leave.release(chance.randint(1, 6))
            space.sweep()
            sweeps += 1
        tail.join()
        space.sweep()
        assert path.read_bytes() == content
        assert broken(space) == [], f"file {number}"
    record(f"live tail, {flavor}", files=SIZES.tails, sweeps=sweeps, problems=0, seed=SIZES.seed)


# --- rotation ---


def truncated_and_written_again(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(b"")
    path.write_bytes(content)


def renamed_within_its_folder(path: Path) -> None:
    path.rename(path.with_name("moved.jsonl"))


def replaced_by_a_copy(path: Path) -> None:
    copy = path.with_name("copy.tmp")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)


def twice_in_two_folders(path: Path) -> None:
    other = path.parent.with_name("-work-other") / path.name
    other.parent.mkdir()
    other.write_bytes(path.read_bytes())


def inode_taken_by_another_session(path: Path) -> None:
    path.write_bytes(claude(900).dump())  # in place: same name and inode, other session


def touched(path: Path) -> None:
    os.utime(path, ns=(1, 1))


def restored(path: Path) -> None:
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)


@pytest.mark.parametrize(
    "rotate",
    [
        truncated_and_written_again,
        renamed_within_its_folder,
        replaced_by_a_copy,
        twice_in_two_folders,
        inode_taken_by_another_session,
        touched,
        restored,
    ],
)
def test_whatever_happens_to_a_file_its_session_is_there_once(
    space: Workspace, rotate: Callable[[Path], None]
) -> None:
    log = claude(7)
    (path,) = space.write(log)
    space.sweep()
    before = [event.text for event in space.events(log.session_id)]
    rotate(path)
    report = space.sweep()
    assert report.failed == []
    told = space.superseded if rotate is inode_taken_by_another_session else space.events
    assert [event.text for event in told(log.session_id)] == before
    assert broken(space) == []


def test_a_file_that_is_gone_takes_nothing_with_it_and_changes_nothing_when_it_is_back(
    space: Workspace,
) -> None:
    log = claude(7)
    (path,) = space.write(log)
    space.sweep()
    before, content = space.dump(), path.read_bytes()
    path.unlink()
    assert space.sweep().vanished == 1
    assert space.dump() == before
    path.write_bytes(content)
    space.sweep()
    assert space.dump() == before
    assert broken(space) == []


# --- clocks ---

MOMENTS = (0, 2**31 * 1000, NOW, NOW - DAY_MS, NOW - HOUR_MS, NOW + HOUR_MS, NOW + DAY_MS)


def test_a_clock_that_steps_changes_nothing_and_evicts_nothing_early(tmp_path: Path) -> None:
    """Sessions are 30 days old at NOW; with a limit of 60 days no moment before may evict them."""
    chance = random.Random(SIZES.seed)
    for number in range(SIZES.clocks):
        space = Workspace(tmp_path / str(number), raw_max_age_days=60)
        write_flavors(space, count=1, steps=1)
        grown = space.write(claude(600))[0]
        content = grown.read_bytes()
        moments = [m for m in chance.choices(MOMENTS, k=4) if m <= NOW + DAY_MS] or [NOW]
        for step, moment in enumerate([*moments, NOW]):
            space.now = moment
            grown.write_bytes(content[: len(content) * (step + 1) // (len(moments) + 1)])
            report = space.sweep()
            assert report.retention.age == 0, f"round {number}: evicted at {moment}"
        assert broken(space) == [], f"round {number}: {moments}"
    record("clock steps", schedules=SIZES.clocks, problems=0, seed=SIZES.seed)
