"""How large a pack may be: the requested size, else the smallest that holds the open work."""

from __future__ import annotations

from typing import Literal

import msgspec

from session_memory.core.work_state import OperationalState
from session_memory.recall.requests import PackRequest

Size = Literal["micro", "normal", "full"]


class SectionLimits(msgspec.Struct, frozen=True):
    """How many lines each section may have, and how many characters the pack."""

    chars: int
    decisions: int
    requests: int
    constraints: int
    dod: int
    pending: int
    blockers: int
    done: int
    summaries: int
    guardrails: int
    traps: int
    resume: int


class PackBudget(msgspec.Struct, frozen=True):
    """The size of a pack, and why."""

    size: Size
    reason: str
    limits: SectionLimits
    max_chars: int


SIZES: dict[Size, SectionLimits] = {
    "micro": SectionLimits(1000, 1, 1, 2, 2, 3, 2, 1, 0, 2, 1, 2),
    "normal": SectionLimits(2200, 2, 1, 3, 3, 4, 3, 2, 1, 2, 3, 4),
    "full": SectionLimits(3600, 4, 2, 4, 5, 6, 4, 3, 2, 3, 5, 4),
}


def choose_budget(state: OperationalState, request: PackRequest) -> PackBudget:
    """The requested size; else the smallest that holds what is open (PCK-14)."""
    if request.budget != "auto":
        size, reason = request.budget, "requested_budget"
    else:
        size, reason = _smallest(state)
    limits = SIZES[size]
    return PackBudget(size, reason, limits, request.chars or limits.chars)


def _smallest(state: OperationalState) -> tuple[Size, str]:
    sizes: tuple[Size, ...] = ("micro", "normal")
    for size in sizes:
        if _holds(SIZES[size], state) and (size != "micro" or state.request is None):
            return size, "fits_open_work_profile"
    return "full", "requires_full_profile"


def _holds(limits: SectionLimits, state: OperationalState) -> bool:
    return (
        state.pending_count <= limits.pending
        and state.blocker_count <= limits.blockers
        and len(state.dod_open) <= limits.dod
    )
