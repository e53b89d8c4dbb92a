"""The sections of a pack, in order: objective, checks, rules, traps, open and done work, resume.

Nothing is said twice, and a section without proven content is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from session_memory.clock import iso
from session_memory.core.schema import Observation
from session_memory.core.work_state import OperationalState
from session_memory.recall.material import Material
from session_memory.recall.pack_budget import SectionLimits
from session_memory.recall.pack_selection import MAX_LISTED, Selection, key_of, spread
from session_memory.recall.pack_text import FACT_CHARS, ITEM_CHARS, Section, safe_line
from session_memory.recall.scope_guard import CLAIMED, guardrails

_RANKS = {
    "blockers": 0,
    "pending": 1,
    "objective": 2,
    "verify": 3,
    "dod_gaps": 4,
    "constraints": 5,
    "traps": 6,
    "decisions": 7,
    "resume": 8,
    "scope_guard": 9,
    "done": 10,
    "continuity": 11,
}
"""Sections with a higher rank lose lines first when the text is too long."""
_DATED = ("pending", "blockers")  # how far to believe what is open depends on its age


class Sections:
    """Builds the sections of one pack from its material and the selection."""

    def __init__(self, material: Material, selection: Selection, limits: SectionLimits) -> None:
        self._state = material.state
        self._facts = material.facts
        self._broad = material.scope.broad
        self._whole = material.scope.session is None
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
        state, limits, facts = self._state, self._limits, self._facts
        sections: tuple[Section, ...] = (
            self._objective(),
            self._facts_of("verify", "Checks", facts.verify, 1),
            self._listed(
                "decisions", "Decisions", self._selected(state.decisions), limits.decisions
            ),
            self._constraints(),
            self._facts_of("traps", "Traps", facts.traps, limits.traps),
            self._listed("dod_gaps", "DoD gaps", state.dod_open, limits.dod),
            self._listed("pending", "Pending", state.pending, limits.pending),
            self._listed("blockers", "Blockers", state.blockers, limits.blockers),
            *self._history(),
            self._lines("scope_guard", "Scope guard", _conflicts(state), limits.guardrails),
            self._facts_of("resume", "Resume", facts.resume, limits.resume),
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
            shown = self._dated if name in _DATED else self._line
            lines.setdefault(name, []).append(shown(observation))
        return tuple(
            msgspec.structs.replace(section, items=(*section.items, *more), extra=len(more))
            if (more := lines.get(section.name))
            else section
            for section in sections
        )

    def _objective(self) -> Section:
        """The objective and the latest request; over several sessions only a candidate."""
        objective, request = self._state.objective, self._state.request
        open_request = ""
        if self._whole:
            objective, request = self._unfinished(objective), self._unfinished(request)
            open_request = safe_line(self._facts.open_request, FACT_CHARS)
        shown = [observation for observation in (objective, request) if observation is not None]
        self._seen.update(observation.session for observation in shown)
        lines = [self._dated(objective)] if objective is not None else []
        before = "Asked: " if lines else ""
        if open_request:
            lines.append(before + open_request)
        elif request is not None and request is not objective:
            lines.append(self._dated(request, before))
        heading = "Objective (project-wide candidate)" if self._broad else "Objective"
        shown_lines = tuple(lines[: 1 + self._limits.requests])
        return Section("objective", heading, shown_lines, len(shown_lines), _RANKS["objective"])

    def _unfinished(self, observation: Observation | None) -> Observation | None:
        if observation is None or observation.session in self._facts.finished:
            return None
        return observation

    def _dated(self, observation: Observation, before: str = "") -> str:
        day = (iso(observation.at) or "")[:10]
        after = f" ({day})" if day else ""
        return before + self._line(observation, ITEM_CHARS - len(before) - len(after)) + after

    def _constraints(self) -> Section:
        """Of a project the rules that the user repeated; of one session all that it states."""
        limit, facts = self._limits.constraints, self._facts
        if not self._whole:
            return self._listed("constraints", "Constraints", self._state.constraints, limit)
        stated = [
            constraint
            for constraint in self._state.constraints
            if constraint.session in facts.unjudged
        ]
        listed = self._listed("constraints", "Constraints", stated, limit)
        repeated = tuple(safe_line(line, FACT_CHARS) for line in facts.rules)
        return msgspec.structs.replace(
            listed,
            items=(*repeated, *listed.items)[:limit],
            total=len(repeated) + listed.total,
        )

    def _history(self) -> tuple[Section, ...]:
        """What was done: of one session. Of a project it is in its commits."""
        if self._whole:
            return ()
        done, limits = self._selected(self._state.completed), self._limits
        return (
            self._listed("done", "Done recently", done, limits.done),
            self._listed("continuity", "Continuity", self._summaries, limits.summaries),
        )

    def _facts_of(self, name: str, heading: str, lines: Sequence[str], limit: int) -> Section:
        shown = tuple(safe_line(line, FACT_CHARS) for line in lines[:limit])
        return Section(name, heading, shown, len(lines), _RANKS[name])

    def _selected(self, observations: Sequence[Observation]) -> list[Observation]:
        """Those that passed the cap of their session."""
        return [each for each in observations if key_of(each) in self._counts]

    def _listed(
        self, name: str, heading: str, observations: Sequence[Observation], limit: int
    ) -> Section:
        ordered = spread(observations) if self._broad else list(observations)
        shown = self._dated if name in _DATED else self._line
        lines = tuple(shown(observation) for observation in ordered[:limit])
        self._seen.update(observation.session for observation in ordered[:limit])
        if name != "constraints":  # a rule that one session stated is the first to leave out
            self._left[name] = ordered[limit:]
        return Section(name, heading, lines, len(observations), _RANKS[name])

    def _lines(self, name: str, heading: str, lines: Sequence[str], limit: int) -> Section:
        shown = tuple(safe_line(line) for line in lines[:limit])
        return Section(name, heading, shown, len(shown), _RANKS[name])

    def _line(self, observation: Observation, limit: int = ITEM_CHARS) -> str:
        count = self._counts.get(key_of(observation), 1)
        times = f" (x{count})" if count > 1 else ""
        return safe_line(observation.text, limit - len(times)) + times


def _conflicts(state: OperationalState) -> list[str]:
    """What was called done and is not; all else that guards the scope has a section here."""
    if all(conflict.origin == "tool" for conflict in state.claim_conflicts):
        return []  # work can be done while its branch waits for a merge
    return [line for line in guardrails(state) if line.startswith(CLAIMED)]
