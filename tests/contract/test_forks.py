"""Promise 4 and 5 across sessions: what a fork copied is its parent's, whichever came in first."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from session_memory.core.facts import Fact
from session_memory.store.port import EventDraft, Store
from session_memory.testing.store_drafts import (
    Said,
    analyze,
    capture,
    event,
    evict,
    lived,
    number,
    response,
)


def told(*names: str) -> list[EventDraft]:
    """Events that every session tells alike, each naming a response."""
    return [
        event(10 * (ord(name[0]) - 97) + int(name[1:]), name, usage_key=number(name))
        for name in names
    ]


def session(name: str, opened: int, *events: str, facts: tuple[Fact, ...] = ()) -> Said:
    usages = tuple(response(one, at=None) for one in events)
    facts = (*lived(opened, opened + 9), *facts)
    return Said(name, f"/logs/{name}", tuple(told(*events)), facts, usages)


A = session("A", 0, "a0", "a1", "a2", "a3", "a4")
B = session("B", 10, "a0", "a1", "a2", "a3", "b0", "b1")
C = session("C", 20, "a0", "a1", "a2", "a3", "b0", "c0")


def inherited(store: Store, name: str) -> list[bool]:
    found = store.find_session(name)
    return [one.inherited for one in store.events(found.id)]


@pytest.mark.parametrize("order", list(itertools.permutations((A, B, C))))
def test_what_a_fork_copied_is_inherited_and_costs_nothing(
    store: Store, order: tuple[Said, ...]
) -> None:
    for said in order:
        capture(store, said)
    assert inherited(store, "A") == [False] * 5
    assert inherited(store, "B") == [True] * 4 + [False] * 2
    assert inherited(store, "C") == [True] * 5 + [False]
    assert [store.find_session(name).forked_from for name in "ABC"] == [None, "A", "B"]
    assert [store.find_session(name).cost.output for name in "ABC"] == [50, 20, 10]
    assert store.fsck() == []


def pieces(said: Said, cuts: list[int], facts_in: int) -> list[Said]:
    """A file as several sweeps see it grow; what it states about itself stands in one of them."""
    edges = [0, *sorted(cut % (len(said.events) + 1) for cut in cuts), len(said.events)]
    parts: list[Said] = []
    for index, (start, end) in enumerate(itertools.pairwise(edges)):
        stated = said.facts if index == facts_in % (len(edges) - 1) else ()
        events, usages = said.events[start:end], said.usages[start:end]
        parts.append(Said(said.session, said.path, events, stated, usages))
    return parts


fresh = itertools.count()
splits = st.lists(
    st.tuples(st.lists(st.integers(0, 6), max_size=2), st.integers(0, 2)), min_size=3, max_size=3
)


@settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(splits, st.randoms(use_true_random=False), st.booleans())
def test_forks_do_not_depend_on_order_or_split(
    store_factory: Any, cut: list[Any], random: Any, stated: bool
) -> None:
    # Stated against the times: A, the oldest, says that it was forked from B.
    first = session("A", 0, "a0", "a1", "a2", facts=(Fact("forked_from", "B", 0),)) if stated else A
    files = (first, B, C)
    whole = store_factory(f"whole-{next(fresh)}")
    capture(whole, *files)
    grown = store_factory(f"grown-{next(fresh)}")
    queues = [pieces(said, *how) for said, how in zip(files, cut, strict=True)]
    while any(queues):  # each file grows in its own order, all of them interleaved
        capture(grown, random.choice([queue for queue in queues if queue]).pop(0))
    assert list(grown.dump()) == list(whole.dump())
    assert grown.fsck() == []
    whole.close()
    grown.close()


@pytest.mark.parametrize("order", [1, -1])
def test_a_parent_that_the_log_names_beats_the_times(store: Store, order: int) -> None:
    child = session("child", 0, "a0", "a1", facts=(Fact("forked_from", "parent", 0),))
    parent = session("parent", 50, "a0", "a1", "a2")
    for said in (child, parent)[::order]:
        capture(store, said)
    assert inherited(store, "child") == [True, True]
    assert inherited(store, "parent") == [False, False, False]
    assert store.find_session("child").forked_from == "parent"
    assert [store.find_session(name).cost.output for name in ("child", "parent")] == [0, 30]


def test_a_session_changed_by_a_parent_that_came_later_needs_a_new_digest(store: Store) -> None:
    (fork,) = capture(store, B)
    analyze(store, fork)
    capture(store, A)
    assert fork in store.unanalyzed()


def test_a_fork_of_an_evicted_session_still_inherits_from_it(store: Store) -> None:
    (parent,) = capture(store, A)
    analyze(store, parent)
    evict(store, parent)
    capture(store, B)
    assert inherited(store, "B") == [True] * 4 + [False] * 2
    assert store.find_session("B").forked_from == "A"
    assert store.find_session("B").cost.output == 20
    assert store.session(parent).cost.output == 50


def test_strangers_share_nothing(store: Store) -> None:
    capture(store, session("x", 0, "x0", "x1"), session("y", 5, "y0"))
    assert inherited(store, "x") + inherited(store, "y") == [False] * 3
    assert store.find_session("y").forked_from is None
