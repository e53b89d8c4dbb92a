"""What an agent should mind, given where the work stands: a line for each thing, none for none."""

from __future__ import annotations

from session_memory.core.text.masks import excerpt
from session_memory.core.work_state import OperationalState

_SHOWN = 120


def guardrails(state: OperationalState) -> list[str]:
    """The lines that follow from a state; an empty state yields none."""
    lines: list[str] = []
    if state.pending_count:
        lines.append(
            f"{_things(state.pending_count, 'item')} still open: do not call the work done."
        )
    if state.request is not None:
        lines.append(f"Keep to what was asked last: {_quote(state.request.text)}")
    if state.blocker_count:
        newest = f": {_quote(state.blockers[0].text)}" if state.blockers else ""
        lines.append(f"Say that the work is blocked ({state.blocker_count}){newest}")
    if not state.dod and (state.objective is not None or state.pending_count):
        lines.append("No definition of done is stated: state one or ask for it.")
    if state.claim_conflicts:
        count = _things(len(state.claim_conflicts), "thing")
        lines.append(f"Completion was claimed while {count} stood open: check before repeating it.")
    return lines


def _things(count: int, name: str) -> str:
    return f"1 {name}" if count == 1 else f"{count} {name}s"


def _quote(text: str) -> str:
    return excerpt(text, _SHOWN)
