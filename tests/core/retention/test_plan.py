"""The eviction plan: which session leaves, in which pass, and what must never leave."""

from __future__ import annotations

import msgspec
import pytest

from session_memory.core.retention.estimate import (
    EVENT_ROW_BYTES,
    estimate_raw_bytes,
    index_estimate,
)
from session_memory.core.retention.explain import explain
from session_memory.core.retention.plan import (
    DAY_MS,
    Eviction,
    EvictionPlan,
    RawSession,
    StoreUsage,
    plan_eviction,
)
from session_memory.settings import GIB, Retention

NOW = 1_800_000_000_000
UNLIMITED = Retention(None, None, None, None)


def session(number: int, **changes: object) -> RawSession:
    """Session 1 is the oldest; each weighs 100 bytes and is distilled unless said otherwise."""
    base = RawSession(
        session_id=number,
        external_id=f"s{number}",
        analyzed=True,
        raw_bytes=100,
        last_at=NOW - (100 - number) * DAY_MS,
        captured_at=NOW,
    )
    return msgspec.structs.replace(base, **changes)


def plan(sessions: list[RawSession], policy: Retention, distilled: int = 0) -> EvictionPlan:
    """A plan over a store that holds exactly these sessions."""
    used = sum(each.raw_bytes for each in sessions)
    return plan_eviction(StoreUsage(used, distilled), sessions, policy, NOW)


def names(of: EvictionPlan) -> list[str]:
    return [eviction.external_id for eviction in of.evictions]


@pytest.mark.rows("RET-01")
def test_below_all_caps_nothing_leaves_however_old() -> None:
    ancient = [session(n, last_at=n, captured_at=n, analyzed=n % 2 == 0) for n in range(1, 9)]
    result = plan(ancient, Retention(raw_max_age_days=None))
    assert result.evictions == ()
    assert result.usage_after == result.usage_before
    assert result.alerts == ()


@pytest.mark.rows("RET-02")
def test_above_the_soft_cap_the_oldest_distilled_sessions_leave_until_usage_fits() -> None:
    five = [session(n) for n in (3, 1, 5, 2, 4)]
    waiting = session(0, analyzed=False)
    result = plan([*five, waiting], msgspec.structs.replace(UNLIMITED, raw_soft_cap_bytes=350))
    assert names(result) == ["s1", "s2", "s3"]
    assert {eviction.reason for eviction in result.evictions} == {"soft"}
    assert result.usage_after.raw_bytes == 300
    assert result.counts == {"age": 0, "soft": 3, "hard": 0}


def test_usage_exactly_at_a_cap_is_within_it() -> None:
    policy = Retention(raw_soft_cap_bytes=300, raw_hard_cap_bytes=300)
    assert plan([session(n) for n in (1, 2, 3)], policy).evictions == ()
    assert names(plan([session(n) for n in (1, 2, 3, 4)], policy)) == ["s1"]


@pytest.mark.rows("RET-03")
def test_above_the_hard_cap_undistilled_sessions_leave_and_are_reported_as_data_loss() -> None:
    waiting = [session(n, analyzed=False, raw_bytes=100 + n) for n in (2, 1, 3)]
    result = plan(waiting, Retention(raw_soft_cap_bytes=50, raw_hard_cap_bytes=250))
    assert result.data_loss == [Eviction(1, "s1", 101, "hard", data_loss=True)]
    assert result.usage_after.raw_bytes == 205
    assert result.counts == {"age": 0, "soft": 0, "hard": 1}


@pytest.mark.rows("RET-03")
def test_there_is_no_data_loss_when_distilled_sessions_suffice() -> None:
    mixed = [session(1, analyzed=False), session(2), session(3)]
    result = plan(mixed, Retention(raw_soft_cap_bytes=150, raw_hard_cap_bytes=200))
    assert names(result) == ["s2", "s3"]
    assert result.data_loss == []


def test_the_hard_cap_alone_takes_distilled_sessions_before_any_other() -> None:
    mixed = [session(1, analyzed=False), session(2), session(3, analyzed=False), session(4)]
    result = plan(mixed, msgspec.structs.replace(UNLIMITED, raw_hard_cap_bytes=150))
    assert [(e.external_id, e.reason, e.data_loss) for e in result.evictions] == [
        ("s2", "hard", False),
        ("s4", "hard", False),
        ("s1", "hard", True),
    ]


@pytest.mark.rows("RET-04")
def test_past_the_maximum_age_only_distilled_sessions_leave() -> None:
    old = NOW - 366 * DAY_MS
    aged, waiting = session(1, captured_at=old), session(2, captured_at=old, analyzed=False)
    result = plan([aged, waiting, session(3)], Retention())
    assert [(e.external_id, e.reason) for e in result.evictions] == [("s1", "age")]


def test_a_session_leaves_by_age_only_once_it_is_older_than_the_limit() -> None:
    limit = NOW - 365 * DAY_MS
    assert names(plan([session(1, captured_at=limit)], Retention())) == []
    assert names(plan([session(1, captured_at=limit - 1)], Retention())) == ["s1"]


@pytest.mark.rows("RET-04")
def test_age_counts_from_capture_and_not_from_the_end_of_the_session() -> None:
    ancient = session(1, last_at=1, captured_at=NOW - DAY_MS)
    captured_long_ago = session(2, last_at=2, captured_at=NOW - 9 * DAY_MS)
    newest = session(3, last_at=3, captured_at=NOW)
    result = plan([ancient, captured_long_ago, newest], Retention(raw_max_age_days=7))
    assert [(e.external_id, e.reason) for e in result.evictions] == [("s2", "age")]


def test_the_caps_take_the_session_that_ended_first_whenever_it_was_captured() -> None:
    archive = session(1, last_at=1, captured_at=NOW)
    recent = session(2, last_at=2, captured_at=NOW - DAY_MS)
    assert names(plan([archive, recent], Retention(raw_soft_cap_bytes=100))) == ["s1"]


def test_what_left_by_age_is_not_taken_again_for_a_cap() -> None:
    aged = session(1, captured_at=NOW - 400 * DAY_MS)
    result = plan([aged, session(2), session(3)], Retention(raw_soft_cap_bytes=100))
    assert [(e.external_id, e.reason) for e in result.evictions] == [("s1", "age"), ("s2", "soft")]
    assert result.sizes == {"age": 100, "soft": 100}


def test_a_time_in_the_future_never_counts_as_old() -> None:
    stepped = session(1, last_at=NOW + 4000 * DAY_MS, captured_at=NOW + 4000 * DAY_MS)
    assert plan([stepped], Retention(raw_max_age_days=1)).evictions == ()
    newest_last = plan([stepped, session(50)], Retention(raw_soft_cap_bytes=100))
    assert names(newest_last) == ["s50"]


@pytest.mark.rows("RET-05")
def test_above_the_distilled_cap_there_is_an_alert_and_nothing_is_deleted() -> None:
    result = plan([session(1)], Retention(), distilled=GIB + GIB // 2)
    assert len(result.alerts) == 1
    assert "1.5 GiB" in result.alerts[0] and "distilled_cap_bytes" in result.alerts[0]
    assert result.evictions == ()
    assert result.usage_after.distilled_bytes == result.usage_before.distilled_bytes


def test_a_hard_cap_that_nothing_can_meet_is_said() -> None:
    used = StoreUsage(1_000, 0)  # more than its sessions account for
    result = plan_eviction(used, [session(1)], Retention(raw_hard_cap_bytes=100), NOW)
    assert names(result) == ["s1"]
    assert "raw_hard_cap_bytes" in result.alerts[0]


def test_sessions_without_raw_bytes_are_not_evicted_for_nothing() -> None:
    empty = session(1, raw_bytes=0)
    assert names(plan([empty, session(2)], Retention(raw_soft_cap_bytes=50))) == ["s2"]


def test_sessions_of_one_moment_leave_in_the_order_of_their_native_ids() -> None:
    twins = [session(1, last_at=7, external_id="b"), session(2, last_at=7, external_id="a")]
    assert names(plan(twins, Retention(raw_soft_cap_bytes=100, raw_max_age_days=None))) == ["a"]


def test_shares_that_add_up_to_more_than_was_measured_leave_usage_at_zero() -> None:
    aged = [session(n, captured_at=1) for n in (1, 2)]
    result = plan_eviction(StoreUsage(150), aged, Retention(100, 100, 1), NOW)
    assert (result.freed, result.usage_after.raw_bytes) == (200, 0)


def test_the_default_budget_is_the_documented_one() -> None:
    assert Retention() == Retention(4 * GIB, 8 * GIB, 365, GIB)


def test_the_estimate_adds_rows_and_index_to_the_segments() -> None:
    assert estimate_raw_bytes(0, 0, 0) == 0
    assert estimate_raw_bytes(1000, 3, 0) == 1000 + 3 * EVENT_ROW_BYTES
    assert estimate_raw_bytes(0, 0, 1000) == 1000
    assert index_estimate(1000) == 600


@pytest.mark.parametrize(
    ("eviction", "words"),
    [
        (Eviction(1, "abc", 2048, "age"), ["abc", "2.0 KiB", "captured more than 365 days ago"]),
        (Eviction(1, "abc", 12, "soft"), ["abc", "12 B", "soft cap, 4.0 GiB", "oldest"]),
        (Eviction(1, "abc", 3 * GIB, "hard"), ["abc", "3.0 GiB", "hard cap, 8.0 GiB", "oldest"]),
        (Eviction(1, "abc", 5, "hard", data_loss=True), ["hard cap", "NO digest", "data_loss"]),
    ],
)
def test_every_eviction_can_say_why(eviction: Eviction, words: list[str]) -> None:
    sentence = explain(eviction, Retention())
    assert all(word in sentence for word in words)
    assert ("data_loss" in sentence) == eviction.data_loss
