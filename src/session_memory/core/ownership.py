"""Which session owns what several sessions hold, because one was forked or resumed from another.

Every answer depends on the sessions alone, never on the order in which they were captured.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

_LATE = 1 << 62
"""When a session opened whose log gives no time: after all others."""


class Relative(msgspec.Struct, frozen=True):
    """A session that shares events or API responses with others."""

    id: int
    flavor: str
    external_id: str
    opened_at: int | None
    """When its first own record was written: later in a fork than in its parent."""
    forked_from: str | None
    """The parent that its log names."""


class UsageClaim(msgspec.Struct, frozen=True):
    """What one session states about an API response."""

    session: Relative
    sidechain: bool
    """Whether it was read in a sub-agent's part of the log."""
    figures: tuple[object, ...]
    """In an order in which the greatest is the most complete."""


class UsageDecision(msgspec.Struct, frozen=True):
    """Whose response it is, and which statement about it is to be believed."""

    owner: Relative
    fullest: UsageClaim


def _age(session: Relative) -> tuple[int, str, str]:
    opened_at = _LATE if session.opened_at is None else session.opened_at
    return opened_at, session.external_id, session.flavor


def find_owner(sessions: Collection[Relative]) -> Relative:
    """The oldest session, except that one which names another of them as its parent never owns."""
    names = {session.external_id for session in sessions}
    own = [session for session in sessions if session.forked_from not in names]
    return min(own or sessions, key=_age)


def find_parent(owners: Collection[Relative]) -> Relative:
    """The parent of a session that inherits from all of these: the youngest of them."""
    return max(owners, key=_age)


def decide_usage(claims: Collection[UsageClaim]) -> UsageDecision:
    """A response belongs to a main session rather than a sidechain, to a parent before its fork."""
    in_main = [claim for claim in claims if not claim.sidechain]
    owner = find_owner([claim.session for claim in in_main or claims])
    return UsageDecision(owner, max(claims, key=_completeness))


def _completeness(claim: UsageClaim) -> tuple[object, ...]:
    return (*claim.figures, not claim.sidechain, _age(claim.session))
