"""Background work: one owner at a time, tries that run out, and no commit by a former owner."""

from __future__ import annotations

import pytest

from session_memory.core.jobs import LEASE_MS, PUT_OFF_MS, RETRIES, Job, state_of
from session_memory.errors import Refused
from session_memory.store.port import Store

KINDS = ("flush",)


def claimed(store: Store, token: str, now: int) -> Job:
    job = store.jobs.claim(KINDS, token, now)
    assert job is not None
    return job


def only(store: Store) -> Job:
    (job,) = store.jobs.all()
    return job


def test_two_claimants_never_get_the_same_job(store: Store) -> None:
    store.jobs.enqueue("flush", "a", 1, now_ms=10)
    claimed(store, "one", 20)
    assert store.jobs.claim(KINDS, "two", 20) is None
    assert state_of(only(store), 20) == "running"


def test_the_oldest_due_job_of_a_wanted_kind_comes_first(store: Store) -> None:
    store.jobs.enqueue("other", "x", 1, now_ms=1)
    store.jobs.enqueue("flush", "late", 1, now_ms=5)
    store.jobs.enqueue("flush", "early", 1, now_ms=3)
    assert claimed(store, "t", 10).key == "early"
    assert claimed(store, "t", 10).key == "late"


def test_a_completed_job_is_done_until_newer_input_comes(store: Store) -> None:
    store.jobs.enqueue("flush", "a", 5, now_ms=10)
    with store.jobs.completing(claimed(store, "t", 20), "t"):
        pass
    assert state_of(only(store), 30) == "done"
    assert not store.jobs.enqueue("flush", "a", 5, now_ms=40)
    assert store.jobs.claim(KINDS, "t", 50) is None
    assert store.jobs.enqueue("flush", "a", 6, now_ms=60)
    assert claimed(store, "t", 70).input == 6


def test_a_silent_owner_loses_its_job_and_cannot_commit(store: Store) -> None:
    store.jobs.enqueue("flush", "a", 1, now_ms=0)
    slow = claimed(store, "slow", 0)
    assert store.jobs.claim(KINDS, "quick", LEASE_MS - 1) is None
    quick = claimed(store, "quick", LEASE_MS)
    assert quick.retries_left == RETRIES - 1, "a worker that dies costs a try"
    assert not store.jobs.heartbeat(slow, "slow", LEASE_MS)
    with pytest.raises(Refused), store.jobs.completing(slow, "slow"):
        store.jobs  # noqa: B018 - whatever was written here is rolled back
    with store.jobs.completing(quick, "quick"):
        pass
    assert state_of(only(store), LEASE_MS) == "done"


def test_a_heartbeat_keeps_the_job(store: Store) -> None:
    store.jobs.enqueue("flush", "a", 1, now_ms=0)
    job = claimed(store, "t", 0)
    assert store.jobs.heartbeat(job, "t", LEASE_MS - 1)
    assert store.jobs.claim(KINDS, "other", LEASE_MS + 1) is None


def test_failures_wait_longer_and_run_out(store: Store) -> None:
    store.jobs.enqueue("flush", "a", 1, now_ms=0)
    now, waits = 0, []
    for _ in range(RETRIES):
        job = claimed(store, "t", now)
        assert store.jobs.fail(job, "t", "no model", now)
        waits.append((only(store).retry_at or 0) - now)
        assert store.jobs.claim(KINDS, "t", now) is None
        now = only(store).retry_at or 0
    assert waits == sorted(waits) and waits[0] < waits[-1]
    assert state_of(only(store), now) == "failed"
    assert store.jobs.claim(KINDS, "t", now + 10**9) is None
    assert only(store).last_error == "no model"


def test_newer_input_gives_a_failed_job_its_tries_back(store: Store) -> None:
    store.jobs.enqueue("flush", "a", 1, now_ms=0)
    for now in (0, 10**8, 2 * 10**8):
        store.jobs.fail(claimed(store, "t", now), "t", "broken", now)
    assert state_of(only(store), 10**9) == "failed"
    store.jobs.enqueue("flush", "a", 2, now_ms=10**9)
    assert only(store).last_error is None
    assert claimed(store, "t", 10**9).retries_left == RETRIES


def test_a_hand_on_jobs(store: Store) -> None:
    store.jobs.enqueue("flush", "a", 1, now_ms=0)
    job = claimed(store, "t", 0)
    assert store.jobs.retry(job.id)
    assert not store.jobs.heartbeat(job, "t", 1), "a retried job is nobody's"
    assert store.jobs.drop(job.id) and not store.jobs.drop(job.id)
    assert store.jobs.all() == []


@pytest.mark.rows("EXT-62")
def test_a_job_that_is_put_off_waits_and_loses_no_try(store: Store) -> None:
    store.jobs.enqueue("flush", "a", 1, now_ms=0)
    for hour in range(RETRIES + 2):
        now = hour * PUT_OFF_MS
        job = claimed(store, "t", now)
        assert not store.jobs.put_off(job, "another", "no money", now)
        assert store.jobs.put_off(job, "t", "no money", now)
        assert store.jobs.claim(KINDS, "t", now + PUT_OFF_MS - 1) is None
        assert state_of(only(store), now) == "waiting"
    assert (only(store).retries_left, only(store).last_error) == (RETRIES, "no money")
