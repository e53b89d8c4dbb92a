"""Which observations enter a pack: repeated ones once, and no session crowds out the others."""

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
"""Never dropped by a cap: losing one of these would mislead (PCK-10, PCK-11)."""

Key = tuple[str, str, str]


class Selected(msgspec.Struct, frozen=True):
    """The latest of equal observations, and how many there were."""

    observation: Observation
    count: int = 1


class CappedSession(msgspec.Struct, frozen=True):
    """A session of which not everything was selected."""

    session_id: int
    original_item_count: int
    used_item_count: int


class Selection(msgspec.Struct, frozen=True):
    """What was selected, and what was left out."""

    selected: tuple[Selected, ...]
    """Latest first."""
    candidates: int
    unique: int
    protected: int
    capped: tuple[CappedSession, ...] = ()

    @property
    def counts(self) -> dict[Key, int]:
        """How often each was said."""
        return {key_of(each.observation): each.count for each in self.selected}


def key_of(observation: Observation) -> Key:
    """Observations of equal type, status and wording are the same thing said again."""
    return observation.type, observation.status, " ".join(observation.text.casefold().split())


def collapse(observations: Iterable[Observation]) -> list[Selected]:
    """Latest first, given oldest first; of equal ones the latest and their number (PCK-06, 07)."""
    latest: dict[Key, tuple[Observation, int]] = {}
    for observation in observations:
        key = key_of(observation)
        _, count = latest.pop(key, (observation, 0))
        latest[key] = (observation, count + 1)
    return [Selected(observation, count) for observation, count in reversed(latest.values())]


def select(observations: Sequence[Observation], *, limit: int, guard: bool) -> Selection:
    """Collapse, cap each session where several share a pack, and keep the latest `limit`.

    Protected observations pass both cuts; the text counts those it has no room for.
    """
    unique = collapse(observations)
    selected: list[Selected] = []
    used: Counter[int] = Counter()
    unprotected: Counter[int] = Counter()
    total_unprotected = 0
    for each in unique:
        session = each.observation.session
        if each.observation.type not in PROTECTED:
            if (guard and unprotected[session] >= PER_SESSION) or total_unprotected >= limit:
                continue
            unprotected[session] += 1
            total_unprotected += 1
        used[session] += 1
        selected.append(each)
    of_session = Counter(each.observation.session for each in unique)
    capped = [
        CappedSession(session, count, used[session])
        for session, count in of_session.items()
        if used[session] < count
    ]
    return Selection(
        selected=tuple(selected),
        candidates=len(observations),
        unique=len(unique),
        protected=len(selected) - total_unprotected,
        capped=tuple(capped) if guard else (),
    )


def spread(observations: Sequence[Observation]) -> list[Observation]:
    """The latest of each session first, then the second latest, given latest first (PCK-09)."""
    counts: Counter[int] = Counter()
    ranked: list[tuple[int, int]] = []
    for index, observation in enumerate(observations):
        ranked.append((counts[observation.session], index))
        counts[observation.session] += 1
    return [observations[index] for _, index in sorted(ranked)]
