"""Who owns what several sessions hold: the same session, whatever order they came in."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from session_memory.core.ownership import (
    Relative,
    UsageClaim,
    decide_usage,
    find_owner,
    find_parent,
)

NAMES = ("a", "b", "c", "d")
relatives = st.lists(
    st.builds(
        Relative,
        id=st.integers(1, 99),
        flavor=st.sampled_from(("claude", "codex")),
        external_id=st.sampled_from(NAMES),
        opened_at=st.none() | st.integers(0, 3),
        forked_from=st.none() | st.sampled_from(NAMES),
    ),
    min_size=1,
    max_size=6,
    unique_by=lambda session: (session.flavor, session.external_id),
)
shuffles = st.randoms(use_true_random=False)


def relative(name: str, opened_at: int | None = None, forked_from: str | None = None) -> Relative:
    return Relative(NAMES.index(name) + 1, "claude", name, opened_at, forked_from)


@given(relatives, shuffles)
def test_any_order_gives_the_same_owner_and_parent(
    sessions: list[Relative], shuffle: random.Random
) -> None:
    shuffled = list(sessions)
    shuffle.shuffle(shuffled)
    assert find_owner(shuffled) == find_owner(sessions)
    assert find_parent(shuffled) == find_parent(sessions)


@given(relatives)
def test_a_fork_owns_only_where_every_session_is_a_fork_of_another(
    sessions: list[Relative],
) -> None:
    names = {session.external_id for session in sessions}
    if find_owner(sessions).forked_from in names:
        assert all(session.forked_from in names for session in sessions)


@given(relatives, st.data(), shuffles)
def test_any_order_gives_the_same_decision_on_a_response(
    sessions: list[Relative], data: st.DataObject, shuffle: random.Random
) -> None:
    claims = [
        UsageClaim(session, data.draw(st.booleans()), (data.draw(st.integers(0, 2)),))
        for session in sessions
    ]
    shuffled = list(claims)
    shuffle.shuffle(shuffled)
    decision = decide_usage(claims)
    assert decide_usage(shuffled) == decision
    assert all(claim.figures <= decision.fullest.figures for claim in claims)
    owns_aside = next(claim for claim in claims if claim.session == decision.owner).sidechain
    assert not owns_aside or all(claim.sidechain for claim in claims)


def test_the_oldest_session_owns() -> None:
    assert find_owner([relative("a", 2), relative("b", 1)]).external_id == "b"
    assert find_owner([relative("a"), relative("b", 9)]).external_id == "b"


def test_a_session_that_names_its_parent_does_not_own_before_it() -> None:
    assert find_owner([relative("a", 1, "b"), relative("b", 2)]).external_id == "b"
    assert find_owner([relative("a", 1, "c"), relative("b", 2)]).external_id == "a"


def test_the_parent_is_the_youngest_of_those_inherited_from() -> None:
    assert find_parent([relative("a", 1), relative("b", 2)]).external_id == "b"
