"""What of a scope's words may enter a pack: equal ones once, and no session drowns the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from session_memory.core.schema import Observation, ObservationType

PER_SESSION = 8
MAX_LISTED = 6
PROTECTED: tuple[ObservationType, ...] = (
    "blocker",
    "pending_item",
    "project_dod",
    "mission_dod",
    "session_dod",
    "constraint",
    "objective",
    "completion_claim",
)
"""Never left out by a cap: losing one of these would mislead (PCK-10, PCK-11)."""

Key = tuple[str, str, str]


class Kept(msgspec.Struct, frozen=True):
    """The latest of equal observations, and how many there were."""

    what: Observation
    count: int = 1


class Capped(msgspec.Struct, frozen=True):
    """A session of which not everything was taken."""

    session_id: int
    original_item_count: int
    used_item_count: int


class Selection(msgspec.Struct, frozen=True):
    """What was taken, and what that left out."""

    kept: tuple[Kept, ...]
    """Latest first."""
    candidates: int
    unique: int
    protected: int
    capped: tuple[Capped, ...] = ()

    @property
    def counts(self) -> dict[Key, int]:
        """How often each was said."""
        return {key_of(one.what): one.count for one in self.kept}


def key_of(one: Observation) -> Key:
    """Equal type, status and wording are the same thing said again; any other is another thing."""
    return one.type, one.status, " ".join(one.text.casefold().split())


def collapse(observations: Iterable[Observation]) -> list[Kept]:
    """Latest first, given oldest first; of equal ones the latest and their number (PCK-06, 07)."""
    found: dict[Key, tuple[Observation, int]] = {}
    for one in observations:
        key = key_of(one)
        _, count = found.pop(key, (one, 0))
        found[key] = (one, count + 1)
    return [Kept(what, count) for what, count in reversed(found.values())]


def select(observations: Sequence[Observation], *, limit: int, guard: bool) -> Selection:
    """Collapse, cap each session where several share a pack, and keep the latest `limit`.

    Protected items pass both cuts; what the text has no room for is counted there.
    """
    unique = collapse(observations)
    taken: list[Kept] = []
    used: Counter[int] = Counter()
    plain: Counter[int] = Counter()
    free = 0
    for one in unique:
        session = one.what.session
        if one.what.type not in PROTECTED:
            if (guard and plain[session] >= PER_SESSION) or free >= limit:
                continue
            plain[session] += 1
            free += 1
        used[session] += 1
        taken.append(one)
    all_of = Counter(one.what.session for one in unique)
    capped = [
        Capped(session, count, used[session])
        for session, count in all_of.items()
        if used[session] < count
    ]
    return Selection(
        kept=tuple(taken),
        candidates=len(observations),
        unique=len(unique),
        protected=len(taken) - free,
        capped=tuple(capped) if guard else (),
    )


def spread(found: Sequence[Observation]) -> list[Observation]:
    """The latest of each session first, then the second latest, given latest first (PCK-09)."""
    seen: Counter[int] = Counter()
    ranked: list[tuple[int, int]] = []
    for place, one in enumerate(found):
        ranked.append((seen[one.session], place))
        seen[one.session] += 1
    return [found[place] for _, place in sorted(ranked)]
