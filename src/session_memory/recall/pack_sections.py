"""The sections of a pack, in order: objective, decisions, open and done work, guardrails."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from session_memory.core.schema import Observation
from session_memory.core.work_state import OperationalState
from session_memory.recall.material import Material
from session_memory.recall.pack_budget import SectionLimits
from session_memory.recall.pack_selection import MAX_LISTED, Selection, key_of, spread
from session_memory.recall.pack_text import ITEM_CHARS, Section, safe_line
from session_memory.recall.scope_guard import guardrails

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
"""Sections with a higher rank lose lines first when the text is too long."""


class Sections:
    """Builds the sections of one pack from its material and the selection."""

    def __init__(self, material: Material, selection: Selection, limits: SectionLimits) -> None:
        self._state = material.state
        self._broad = material.scope.broad
        self._limits = limits
        self._counts = selection.counts
        self._summaries = [
            each.observation
            for each in selection.selected
            if each.observation.type == "session_summary"
        ]
        self._seen: set[int] = set()
        """Sessions that have a line in some section."""
        self._left: dict[str, list[Observation]] = {}
        """Observations that each section has no room for."""

    def all(self) -> tuple[Section, ...]:
        """Every section that has lines."""
        state, limits = self._state, self._limits
        sections: tuple[Section, ...] = (
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
            sections = self._with_unseen(sections)
        return tuple(section for section in sections if section.items)

    def _with_unseen(self, sections: Sequence[Section]) -> tuple[Section, ...]:
        """One more line for each session that has none yet, in its most important section (PCK-09).

        Otherwise a few large sessions could take every line of a short pack. At most as many
        sessions are shown as the stats name.
        """
        best: dict[int, tuple[str, Observation]] = {}
        for name in sorted(self._left, key=_RANKS.__getitem__):
            for observation in self._left[name]:
                if observation.session not in self._seen:
                    best.setdefault(observation.session, (name, observation))
        latest = sorted(best.values(), key=lambda pair: -(pair[1].at or 0))
        latest = latest[: max(0, MAX_LISTED - len(self._seen))]
        lines: dict[str, list[str]] = {}
        for name, observation in latest:
            lines.setdefault(name, []).append(self._line(observation))
        return tuple(
            msgspec.structs.replace(section, items=(*section.items, *more), extra=len(more))
            if (more := lines.get(section.name))
            else section
            for section in sections
        )

    def _objective(self) -> Section:
        """The objective and the latest request; over several sessions only a candidate."""
        objectives = self._state.objective_candidates[:1]
        request = self._state.request
        requests = [request] if request is not None and request not in objectives else []
        self._seen.update(observation.session for observation in (*objectives, *requests))
        lines = [self._line(objective) for objective in objectives]
        lines += [f"Asked: {self._line(each, ITEM_CHARS - 7)}" for each in requests]
        heading = "Objective (project-wide candidate)" if self._broad else "Objective"
        return self._lines("objective", heading, lines, 1 + self._limits.requests)

    def _selected(self, observations: Sequence[Observation]) -> list[Observation]:
        """Those that passed the cap of their session."""
        return [each for each in observations if key_of(each) in self._counts]

    def _listed(
        self, name: str, heading: str, observations: Sequence[Observation], limit: int
    ) -> Section:
        ordered = spread(observations) if self._broad else list(observations)
        lines = tuple(self._line(observation) for observation in ordered[:limit])
        self._seen.update(observation.session for observation in ordered[:limit])
        self._left[name] = ordered[limit:]
        return Section(name, heading, lines, len(observations), _RANKS[name])

    def _lines(self, name: str, heading: str, lines: Sequence[str], limit: int) -> Section:
        shown = tuple(safe_line(line) for line in lines[:limit])
        return Section(name, heading, shown, len(shown), _RANKS[name])

    def _line(self, observation: Observation, limit: int = ITEM_CHARS) -> str:
        count = self._counts.get(key_of(observation), 1)
        times = f" (x{count})" if count > 1 else ""
        return safe_line(observation.text, limit - len(times)) + times


def _resume(state: OperationalState) -> list[str]:
    """What to do next: remove a blocker, else the first open item, else the latest request."""
    if state.next_actions:
        return [state.next_actions[0]]
    return [state.request.text] if state.request is not None else []
