"""Which sessions give up their raw text, in what order and why: a plan, made from values alone.

Three passes over Tier 1, each of them oldest session first:

  age    distilled sessions captured longer ago than the maximum age, however much room there is
  soft   above the soft cap: distilled sessions, until usage is at or below it
  hard   above the hard cap still: distilled sessions that are left, then, as the last resort,
         sessions without a digest. Those are marked `data_loss`; no other pass touches them.

Tier 2 (digests, observations, patterns) is never in a plan: above its cap it gets an alert.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from session_memory.core.text.human_bytes import human_bytes
from session_memory.settings import Retention

DAY_MS = 86_400_000

Reason = Literal["age", "soft", "hard"]


class RawSession(msgspec.Struct, frozen=True):
    """A session that still holds raw text, as far as eviction needs to know it."""

    session_id: int
    external_id: str
    analyzed: bool
    """True when a digest of all its events is stored; one made before it grew does not count."""
    raw_bytes: int
    """Its share of usage: see `estimate.estimate_raw_bytes`."""
    last_at: int
    """When it ended, else when it was captured, in milliseconds: who leaves first."""
    captured_at: int
    """When raw text of it was last captured. Its age counts from here and not from `last_at`:
    logs that were old when they were first read must stay searchable."""


class StoreUsage(msgspec.Struct, frozen=True):
    """Bytes in use, raw (Tier 1) and distilled (Tier 2)."""

    raw_bytes: int
    distilled_bytes: int = 0


class Eviction(msgspec.Struct, frozen=True):
    """One session whose raw text goes, and which pass says so."""

    session_id: int
    external_id: str
    bytes: int
    reason: Reason
    data_loss: bool = False
    """True when no digest exists, so that its content is lost."""


class EvictionPlan(msgspec.Struct, frozen=True):
    """What to evict, in this order, and where usage stands before and after."""

    evictions: tuple[Eviction, ...]
    usage_before: StoreUsage
    usage_after: StoreUsage
    policy: Retention = Retention()
    """The limits it was made for."""
    alerts: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[Reason, int]:
        """Evictions of each pass; a pass that took nothing is there with 0."""
        counts: dict[Reason, int] = {"age": 0, "soft": 0, "hard": 0}
        for eviction in self.evictions:
            counts[eviction.reason] += 1
        return counts

    @property
    def sizes(self) -> dict[Reason, int]:
        """Bytes each pass takes; only passes that take something."""
        sizes: dict[Reason, int] = {}
        for eviction in self.evictions:
            sizes[eviction.reason] = sizes.get(eviction.reason, 0) + eviction.bytes
        return sizes

    @property
    def freed(self) -> int:
        """Bytes that carrying out the plan gives back."""
        return sum(eviction.bytes for eviction in self.evictions)

    @property
    def data_loss(self) -> list[Eviction]:
        """The evictions that drop a session without a digest."""
        return [eviction for eviction in self.evictions if eviction.data_loss]


def plan_eviction(
    usage: StoreUsage, sessions: Iterable[RawSession], policy: Retention, now_ms: int
) -> EvictionPlan:
    """Decide what leaves. Same values in, same plan out, in whatever order sessions come."""
    # A session without raw bytes has nothing to give, so dropping it would only cost.
    movable = sorted((s for s in sessions if s.raw_bytes > 0), key=_oldest_first)
    distilled = [s for s in movable if s.analyzed]
    undistilled = [s for s in movable if not s.analyzed]

    aged = [s for s in distilled if _is_over_age(s, policy.raw_max_age_days, now_ms)]
    within_age = [s for s in distilled if not _is_over_age(s, policy.raw_max_age_days, now_ms)]
    level = usage.raw_bytes - _total(aged)

    soft = _until_within(policy.raw_soft_cap_bytes, level, within_age)
    level -= _total(soft)

    # Distilled before undistilled: digests must exist for whatever can be dropped instead.
    hard = _until_within(policy.raw_hard_cap_bytes, level, [*within_age[len(soft) :], *undistilled])
    level -= _total(hard)

    # Shares are estimates; together they may exceed what was measured, but usage is never negative.
    after = StoreUsage(max(0, level), usage.distilled_bytes)
    passes: tuple[tuple[Reason, list[RawSession]], ...] = (
        ("age", aged),
        ("soft", soft),
        ("hard", hard),
    )
    return EvictionPlan(
        evictions=tuple(_eviction(s, reason) for reason, taken in passes for s in taken),
        usage_before=usage,
        usage_after=after,
        policy=policy,
        alerts=tuple(_alerts(after, policy)),
    )


def _oldest_first(session: RawSession) -> tuple[int, str, int]:
    # Native id before ours: two stores that captured in another order plan alike.
    return session.last_at, session.external_id, session.session_id


def _is_over_age(session: RawSession, max_age_days: int | None, now_ms: int) -> bool:
    # A time in the future (the clock was stepped) gives a negative age: young, never old.
    return max_age_days is not None and now_ms - session.captured_at > max_age_days * DAY_MS


def _until_within(
    cap: int | None, level: int, candidates: Sequence[RawSession]
) -> list[RawSession]:
    """The shortest head of `candidates` that brings `level` to the cap, or all of them."""
    taken: list[RawSession] = []
    if cap is None:
        return taken
    for session in candidates:
        if level <= cap:
            break
        taken.append(session)
        level -= session.raw_bytes
    return taken


def _total(sessions: Iterable[RawSession]) -> int:
    return sum(session.raw_bytes for session in sessions)


def _eviction(session: RawSession, reason: Reason) -> Eviction:
    return Eviction(
        session_id=session.session_id,
        external_id=session.external_id,
        bytes=session.raw_bytes,
        reason=reason,
        data_loss=not session.analyzed,
    )


def _alerts(after: StoreUsage, policy: Retention) -> Iterable[str]:
    cap = policy.distilled_cap_bytes
    if cap is not None and after.distilled_bytes > cap:
        yield (
            f"distilled data uses {human_bytes(after.distilled_bytes)}, above distilled_cap_bytes "
            f"({human_bytes(cap)}); nothing of it was deleted"
        )
    hard = policy.raw_hard_cap_bytes
    if hard is not None and after.raw_bytes > hard:
        yield (
            f"raw data stays at {human_bytes(after.raw_bytes)}, above raw_hard_cap_bytes "
            f"({human_bytes(hard)}): what is left belongs to live or held sessions"
        )
