"""The sections of a pack, in their order: what is wanted, decided, open, done, and what to mind."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from session_memory.core.schema import Observation
from session_memory.core.work_state import OperationalState
from session_memory.recall.guardrails import guardrails
from session_memory.recall.material import Material
from session_memory.recall.pack_budget import Limits
from session_memory.recall.pack_selection import MAX_LISTED, Selection, key_of, spread
from session_memory.recall.pack_text import ITEM_CHARS, Section, item

_RANKS = {
    "blockers": 0,
    "pending": 1,
    "objective": 2,
    "dod_gaps": 3,
    "constraints": 4,
    "decisions": 5,
    "resume": 6,
    "scope_guard": 7,
    "done": 8,
    "continuity": 9,
}
"""The order in which sections are kept when the text is short of room."""


class Sections:
    """Builds the sections of one pack from its material and what was selected of it."""

    def __init__(self, material: Material, selection: Selection, limits: Limits) -> None:
        self._state = material.state
        self._broad = material.scope.broad
        self._limits = limits
        self._counts = selection.counts
        self._summaries = [
            kept.what for kept in selection.kept if kept.what.type == "session_summary"
        ]
        self._seen: set[int] = set()
        """Sessions of which some section shows a line."""
        self._left: dict[str, list[Observation]] = {}
        """What each section has no place for."""

    def all(self) -> tuple[Section, ...]:
        """Every section that has something to say."""
        state, limits = self._state, self._limits
        found: tuple[Section, ...] = (
            self._objective(),
            self._listed(
                "decisions", "Decisions", self._selected(state.decisions), limits.decisions
            ),
            self._listed("constraints", "Constraints", state.constraints, limits.constraints),
            self._listed("dod_gaps", "DoD gaps", state.dod_open, limits.dod),
            self._listed("pending", "Pending", state.pending, limits.pending),
            self._listed("blockers", "Blockers", state.blockers, limits.blockers),
            self._listed("done", "Done recently", self._selected(state.completed), limits.done),
            self._listed("continuity", "Continuity", self._summaries, limits.summaries),
            self._lines("scope_guard", "Scope guard", guardrails(state), limits.guardrails),
            self._lines("resume", "Resume", _resume(state), 1),
        )
        if self._broad:
            found = self._with_unseen(found)
        return tuple(section for section in found if section.items)

    def _with_unseen(self, found: Sequence[Section]) -> tuple[Section, ...]:
        """A further line for a session that shows nowhere, where it matters most (PCK-09).

        The limits of sections would let a few large sessions take every line of a short pack. As
        many sessions are shown as the stats name.
        """
        best: dict[int, tuple[str, Observation]] = {}
        for name in sorted(self._left, key=_RANKS.__getitem__):
            for one in self._left[name]:
                if one.session not in self._seen:
                    best.setdefault(one.session, (name, one))
        latest = sorted(best.values(), key=lambda pair: -(pair[1].at or 0))
        latest = latest[: max(0, MAX_LISTED - len(self._seen))]
        lines: dict[str, list[str]] = {}
        for name, one in latest:
            lines.setdefault(name, []).append(self._line(one))
        return tuple(
            msgspec.structs.replace(section, items=(*section.items, *more), extra=len(more))
            if (more := lines.get(section.name))
            else section
            for section in found
        )

    def _objective(self) -> Section:
        """The objective and what was asked last; over several sessions only a candidate."""
        state = self._state
        goals = state.objective_candidates[:1]
        asked = [one for one in self._requests() if one not in goals]
        self._seen.update(one.session for one in (*goals, *asked))
        lines = [self._line(one) for one in goals]
        lines += [f"Asked: {self._line(one, ITEM_CHARS - 7)}" for one in asked]
        heading = "Objective (project-wide candidate)" if self._broad else "Objective"
        return self._lines("objective", heading, lines, 1 + self._limits.requests)

    def _requests(self) -> list[Observation]:
        return [self._state.request] if self._state.request is not None else []

    def _selected(self, found: Sequence[Observation]) -> list[Observation]:
        """Those that passed the cap of their session."""
        return [one for one in found if key_of(one) in self._counts]

    def _listed(self, name: str, heading: str, found: Sequence[Observation], limit: int) -> Section:
        shown = spread(found) if self._broad else list(found)
        lines = tuple(self._line(one) for one in shown[:limit])
        self._seen.update(one.session for one in shown[:limit])
        self._left[name] = shown[limit:]
        return Section(name, heading, lines, len(found), _RANKS[name])

    def _lines(self, name: str, heading: str, lines: Sequence[str], limit: int) -> Section:
        shown = tuple(item(line) for line in lines[:limit])
        return Section(name, heading, shown, len(shown), _RANKS[name])

    def _line(self, one: Observation, limit: int = ITEM_CHARS) -> str:
        count = self._counts.get(key_of(one), 1)
        times = f" (x{count})" if count > 1 else ""
        return item(one.text, limit - len(times)) + times


def _resume(state: OperationalState) -> list[str]:
    """What to do next: clear what is in the way, else the first open item, else what was asked."""
    if state.next_actions:
        return [state.next_actions[0]]
    return [state.request.text] if state.request is not None else []
