"""A context that could not be flushed waits, is tried again, and is given up after three drains."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.journal.flush_journal import HOUR, MINUTE, Bench

from session_memory.errors import BudgetSpent, ModelFailed
from session_memory.journal.flush import retry_failed
from session_memory.journal.flush_records import (
    COOLDOWN_MS,
    MAX_RETRIES,
    PendingCounts,
    PendingExcerpt,
    count_pending,
    read_pending,
)

DOWN = [ModelFailed("down")] * 3


def waiting(bench: Bench) -> list[PendingExcerpt]:
    return read_pending(bench.journal, bench.now, print)


def fail(bench: Bench, session: str, text: str) -> Path:
    bench.says(*DOWN)
    path = bench.excerpt(text)
    assert bench.flush(path, session) == "failed"
    return path


def succeed(bench: Bench, text: str, *answers: object) -> None:
    bench.says("fresh", *answers)
    assert bench.flush(bench.excerpt(text), f"session of {text}") == "saved"


@pytest.mark.rows("FLU-14")
def test_after_the_cooldown_a_success_drains_two(bench: Bench) -> None:
    paths = [fail(bench, f"s{n}", f"context {n}") for n in range(3)]
    bench.now += 6 * HOUR - MINUTE
    succeed(bench, "too early")
    assert count_pending(waiting(bench)) == PendingCounts(3, 0)
    bench.now += MINUTE
    succeed(bench, "in time", "drained 0", "drained 1", "never asked for")
    assert [path.exists() for path in paths] == [False, False, True]
    assert [entry.content for entry in bench.entries()][-2:] == ["drained 0", "drained 1"]
    assert [one.session for one in waiting(bench)] == ["s2"]


@pytest.mark.rows("FLU-14")
def test_three_drains_in_vain_put_a_context_out_of_the_way(bench: Bench) -> None:
    path = fail(bench, "s1", "hopeless")
    for drain in range(1, 4):
        bench.now += 6 * HOUR
        succeed(bench, f"other {drain}", *DOWN)
        assert [one.drains for one in waiting(bench)] == [drain]
    assert count_pending(waiting(bench)) == PendingCounts(0, 1)
    bench.now += 100 * HOUR
    succeed(bench, "later")  # a drain would run out of script
    assert path.read_text() == "hopeless", "given up is not thrown away"
    bench.says()
    assert retry_failed(bench.flush_context()) == {}
    bench.says("at last")
    assert retry_failed(bench.flush_context(), permanent=True) == {str(path): "saved"}
    assert count_pending(waiting(bench)) == PendingCounts(0, 0) and not path.exists()


@pytest.mark.rows("FLU-14")
def test_asked_for_everything_is_tried_at_once(bench: Bench) -> None:
    paths = [fail(bench, f"s{n}", f"context {n}") for n in range(3)]
    bench.says("a", "b", "FLUSH_OK")
    outcomes = retry_failed(bench.flush_context())
    assert sorted(outcomes.values()) == ["nothing", "saved", "saved"]
    assert not any(path.exists() for path in paths)


@pytest.mark.rows("FLU-14")
def test_of_each_session_only_the_newest_copy_is_kept(bench: Bench) -> None:
    old = fail(bench, "s1", "short")
    os.utime(old, ns=(1, 1))
    new = fail(bench, "s1", "short and longer")
    other = fail(bench, "s2", "of another")
    assert (old.exists(), new.exists(), other.exists()) == (False, True, True)
    assert sorted(one.session for one in waiting(bench)) == ["s1", "s2"]


def test_the_context_of_a_killed_flush_is_found(bench: Bench) -> None:
    bench.journal.excerpts.mkdir(parents=True)
    left = bench.journal.excerpts / "a%2Fb--17.md"
    left.write_text("left behind")
    bench.now = int(left.stat().st_mtime * 1000) + 7 * HOUR
    succeed(bench, "other", "of the killed one")
    assert not left.exists()
    assert "a/b" in {entry.session for entry in bench.entries()}


def test_a_note_whose_context_has_gone_is_dropped(bench: Bench) -> None:
    fail(bench, "s1", "x").unlink()
    assert waiting(bench) == []


@pytest.mark.rows("EXT-62", "FLU-14")
def test_a_context_that_the_budget_puts_off_is_never_given_up(bench: Bench) -> None:
    path = bench.excerpt("worth keeping")
    bench.says(BudgetSpent("day cap"))
    assert bench.flush(path) == "failed"
    for number in range(MAX_RETRIES + 2):
        bench.now += COOLDOWN_MS
        bench.says(f"of another {number}", BudgetSpent("day cap"))
        bench.flush(bench.excerpt(f"other {number}"), "s2")
    (left,) = waiting(bench)
    assert (left.drains, left.permanent, path.exists()) == (0, False, True)
