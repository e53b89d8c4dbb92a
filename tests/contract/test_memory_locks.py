"""Who consolidates a place: what every store promises of the lock and of the swap."""

from __future__ import annotations

import pytest

from session_memory.errors import Refused
from session_memory.store.memories import Claim, Held
from session_memory.store.port import Store

HERE, LEASE = "/work/shop", 600_000


def test_one_owner_at_a_time_until_the_lease_ends(store: Store) -> None:
    memories = store.memories
    assert memories.acquire(HERE, "a", 1_000, LEASE)
    assert memories.acquire(HERE, "a", 2_000, LEASE)
    assert not memories.acquire(HERE, "b", 2_000 + LEASE - 1, LEASE)
    assert memories.renew(HERE, "a", 3_000) and not memories.renew(HERE, "b", 3_000)
    assert memories.acquire(HERE, "b", 3_000 + LEASE, LEASE)
    assert memories.held() == [Held(HERE, "b", 3_000 + LEASE)]
    assert not memories.release(HERE, "a") and memories.release(HERE, "b")
    assert not memories.release(HERE, "b") and memories.held() == []


def test_a_swap_needs_the_lock_and_ends_the_job(store: Store) -> None:
    store.jobs.enqueue("memory.consolidate", HERE, 1, 1_000)
    job = store.jobs.claim(("memory.consolidate",), "t", 1_000)
    claim = Claim(HERE, "a", job, "t")
    with pytest.raises(Refused), store.memories.swapping(claim):
        raise AssertionError("nobody held the lock")
    store.memories.acquire(HERE, "a", 1_000, LEASE)
    with pytest.raises(OSError, match="full"), store.memories.swapping(claim):
        raise OSError("full")  # what fails inside leaves the job as it was
    assert [one.id for one in store.jobs.all()] == [job.id if job else 0]
    with store.memories.swapping(claim):
        pass
    assert store.jobs.all() == []


def test_locks_of_places_can_be_dropped(store: Store) -> None:
    for place in ("/a", "/b"):
        store.memories.acquire(place, "x", 1, LEASE)
    store.memories.drop_locks(["/a", "/none"])
    assert [held.root for held in store.memories.held()] == ["/b"]
