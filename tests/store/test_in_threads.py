"""Several files are written at once: all of them, and an error of one is not lost."""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

import pytest

from session_memory.store.in_threads import in_threads
from session_memory.store.segments import DirectorySegments, pack, unpack


def test_all_are_under_way_at_the_same_time() -> None:
    together = threading.Barrier(3, timeout=30)
    in_threads(partial(_wait_at, together) for _ in range(3))
    assert not together.broken


def _wait_at(barrier: threading.Barrier) -> None:
    barrier.wait()


def test_the_error_of_one_is_raised_once_the_others_are_done() -> None:
    done: list[int] = []

    def work(number: int) -> None:
        if number == 1:
            raise OSError(28, "No space left on device")
        done.append(number)

    with pytest.raises(OSError, match="No space left"):
        in_threads(partial(work, number) for number in range(4))
    assert sorted(done) == [0, 2, 3]


def test_more_segments_than_threads_are_all_written(tmp_path: Path) -> None:
    segments = DirectorySegments(str(tmp_path))
    packed = [pack(number, b"text of %d" % number * 3) for number in range(40)]
    segments.put(packed)
    assert [unpack(segments, one.name) for one in packed] == [
        b"text of %d" % number * 3 for number in range(40)
    ]
    assert not list(tmp_path.rglob("*.tmp"))
