"""Whether work is done: nothing open, nothing in the way, and something that shows it (OPS-04)."""

from __future__ import annotations

from typing import Literal

import msgspec

from session_memory.core.work_state import OperationalState

Reason = Literal[
    "ready_to_close", "pending_items_open", "blockers_open", "dod_incomplete", "missing_evidence"
]


class Verdict(msgspec.Struct, frozen=True):
    """The answer, and why."""

    done: bool
    reasons: tuple[Reason, ...]
    mismatch: bool
    """Completion was claimed, and it is not so (OPS-05)."""

    @property
    def primary(self) -> Reason:
        """The first reason, which says it all in one word."""
        return self.reasons[0] if self.reasons else "ready_to_close"


def judge(state: OperationalState) -> Verdict:
    """Judge by counts, which no limit of a state touches; a claim is no evidence of itself."""
    found: tuple[tuple[bool, Reason], ...] = (
        (state.pending_count > 0, "pending_items_open"),
        (state.blocker_count > 0, "blockers_open"),
        (bool(state.dod_open), "dod_incomplete"),
        (state.completed_count == 0, "missing_evidence"),
    )
    reasons: tuple[Reason, ...] = tuple(reason for holds, reason in found if holds)
    return Verdict(not reasons, reasons, bool(reasons) and state.claim is not None)
