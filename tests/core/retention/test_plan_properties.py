"""What holds for every eviction plan, whatever the sessions, the caps and the clock."""

from __future__ import annotations

import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from session_memory.core.retention.plan import (
    DAY_MS,
    EvictionPlan,
    RawSession,
    StoreUsage,
    plan_eviction,
)
from session_memory.settings import Retention

NOW = 1_000 * DAY_MS
caps = st.none() | st.integers(1, 1_500)
stores = st.lists(
    st.builds(
        RawSession,
        session_id=st.just(0),
        external_id=st.sampled_from("abcd"),
        analyzed=st.booleans(),
        raw_bytes=st.integers(0, 300),
        last_at=st.integers(0, 1_200).map(lambda days: days * DAY_MS),
        captured_at=st.integers(0, 1_200).map(lambda days: days * DAY_MS),
    ),
    max_size=12,
).map(lambda drawn: [msgspec.structs.replace(s, session_id=i) for i, s in enumerate(drawn)])
limits = st.none() | st.integers(1, 1_000)
policies = st.builds(Retention, caps, caps, limits, caps).map(
    lambda p: msgspec.structs.replace(p, raw_soft_cap_bytes=_lower(p))
)
quick = settings(max_examples=150)


def _lower(policy: Retention) -> int | None:
    """The soft cap, brought under the hard cap, so that the policy is a valid one."""
    soft, hard = policy.raw_soft_cap_bytes, policy.raw_hard_cap_bytes
    return soft if soft is None or hard is None else min(soft, hard)


def plan(sessions: list[RawSession], policy: Retention, extra: int = 0) -> EvictionPlan:
    used = sum(each.raw_bytes for each in sessions) + extra
    return plan_eviction(StoreUsage(used), sessions, policy, NOW)


def ids(of: EvictionPlan) -> set[int]:
    return {eviction.session_id for eviction in of.evictions}


@pytest.mark.rows("RET-06")
@given(stores, policies)
@quick
def test_what_leaves_has_a_digest_or_is_listed_as_data_loss_of_the_hard_cap(
    sessions: list[RawSession], policy: Retention
) -> None:
    result = plan(sessions, policy)
    by_id = {each.session_id: each for each in sessions}
    lost = {eviction.session_id for eviction in result.data_loss}
    for eviction in result.evictions:
        session = by_id[eviction.session_id]
        assert session.analyzed or eviction.session_id in lost
        assert session.analyzed != eviction.data_loss
        assert not eviction.data_loss or eviction.reason == "hard"
    if lost:
        # Last resort: with every movable distilled session gone, usage was still above the cap.
        movable = {s.session_id for s in sessions if s.analyzed and s.raw_bytes}
        assert movable <= ids(result)


@given(stores, policies, st.integers(0, 200))
@quick
def test_usage_after_is_usage_before_without_what_leaves(
    sessions: list[RawSession], policy: Retention, extra: int
) -> None:
    result = plan(sessions, policy, extra)
    assert len(ids(result)) == len(result.evictions) == sum(result.counts.values())
    assert result.usage_after.raw_bytes == result.usage_before.raw_bytes - result.freed
    sizes = {each.session_id: each.raw_bytes for each in sessions}
    assert all(sizes[e.session_id] == e.bytes > 0 for e in result.evictions)


@given(stores, policies)
@quick
def test_each_pass_stops_at_the_first_session_that_brings_usage_within_its_cap(
    sessions: list[RawSession], policy: Retention
) -> None:
    result = plan(sessions, policy)
    wanted = {"soft": policy.raw_soft_cap_bytes, "hard": policy.raw_hard_cap_bytes}
    level = result.usage_before.raw_bytes
    for eviction in result.evictions:
        cap = wanted.get(eviction.reason)
        assert eviction.reason == "age" or (cap is not None and level > cap)
        level -= eviction.bytes


@given(stores, policies)
@quick
def test_the_caps_are_met_as_far_as_anything_may_leave(
    sessions: list[RawSession], policy: Retention
) -> None:
    result = plan(sessions, policy)
    stays = [s for s in sessions if s.session_id not in ids(result) and s.raw_bytes]
    soft, hard = policy.raw_soft_cap_bytes, policy.raw_hard_cap_bytes
    level = result.usage_after.raw_bytes
    if soft is not None and level > soft:
        assert all(not s.analyzed for s in stays)
    if hard is not None and level > hard:
        assert stays == []
    if policy.raw_max_age_days is not None:
        old = NOW - policy.raw_max_age_days * DAY_MS
        assert all(not s.analyzed or s.captured_at >= old for s in stays)


@given(stores, policies)
@quick
def test_under_a_cap_an_older_session_never_outlives_a_newer_one_of_its_kind(
    sessions: list[RawSession], policy: Retention
) -> None:
    result = plan(sessions, policy)
    aged = {e.session_id for e in result.evictions if e.reason == "age"}
    order = [e.session_id for e in result.evictions if e.reason != "age"]
    sessions = [s for s in sessions if s.session_id not in aged]
    for analyzed in (True, False):
        kind = [s for s in sessions if s.analyzed == analyzed and s.raw_bytes]
        kind.sort(key=lambda s: (s.last_at, s.external_id, s.session_id))
        gone = [s.session_id for s in kind if s.session_id in order]
        assert gone == [s.session_id for s in kind[: len(gone)]]
        assert gone == [each for each in order if each in set(gone)]


@given(stores, policies, st.randoms(use_true_random=False))
@quick
def test_the_plan_does_not_depend_on_the_order_sessions_come_in(
    sessions: list[RawSession], policy: Retention, chance: random.Random
) -> None:
    shuffled = sessions[:]
    chance.shuffle(shuffled)
    assert plan(sessions, policy) == plan(shuffled, policy)


@given(stores, policies, st.integers(0, 500), st.integers(0, 500))
@quick
def test_more_room_never_costs_a_further_session(
    sessions: list[RawSession], policy: Retention, soft: int, hard: int
) -> None:
    wider = Retention(
        _plus(policy.raw_soft_cap_bytes, soft),
        _plus(policy.raw_hard_cap_bytes, hard),
        policy.raw_max_age_days,
    )
    assert ids(plan(sessions, wider)) <= ids(plan(sessions, policy))


@given(stores, limits, st.integers(0, 500))
@quick
def test_more_time_never_costs_a_further_session(
    sessions: list[RawSession], limit: int | None, days: int
) -> None:
    shorter, longer = Retention(None, None, limit), Retention(None, None, _plus(limit, days))
    assert ids(plan(sessions, longer)) <= ids(plan(sessions, shorter))


@given(stores, policies)
@quick
def test_a_plan_carried_out_leaves_nothing_more_to_do(
    sessions: list[RawSession], policy: Retention
) -> None:
    gone = ids(plan(sessions, policy))
    rest = [each for each in sessions if each.session_id not in gone]
    assert plan(rest, policy).evictions == ()


def _plus(cap: int | None, more: int) -> int | None:
    return None if cap is None else cap + more
