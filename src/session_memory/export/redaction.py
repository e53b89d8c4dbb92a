"""What an export tells about a session, redacted by this store's rules; values in, values out."""

from __future__ import annotations

import msgspec

from session_memory.core.facts import Fact
from session_memory.core.project.identity import Resolution
from session_memory.core.schema import Confidence, Digest, Observation
from session_memory.export.records import FactLine, SessionLine
from session_memory.redact.engine import Redactor
from session_memory.store.exchange import Note


class Cleaning:
    """One redactor for all that is told; few words, said often."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._known: dict[str, str] = {}

    def word(self, text: str) -> str:
        """A name, path or title."""
        clean = self._known.get(text)
        if clean is None:
            clean = self._redactor.redact_text(text)
            if len(self._known) < 10_000:
                self._known[text] = clean
        return clean

    def fact(self, line: FactLine) -> Fact:
        """What a log states."""
        value = self.word(line.value) if isinstance(line.value, str) else line.value
        return Fact(line.name, value, line.pos)

    def notes(self, line: SessionLine) -> tuple[Note, ...]:
        """What hooks told."""
        return tuple(Note(note.name, self.word(note.value), note.at) for note in line.notes)

    def lasting(self, line: SessionLine, session_id: int) -> list[Observation]:
        """Notes, and observations of text that the other store had evicted.

        The events they were read from have no number here.
        """
        kept = set(line.lasting)
        return [
            msgspec.structs.replace(
                one,
                session=session_id,
                event=None,
                text=self.word(one.text),
                importance=min(max(one.importance, 1), 5),
            )
            for one in line.observations
            if one.hash in kept
        ]

    def digest(self, digest: Digest | None) -> Digest | None:
        """What was distilled."""
        if digest is None:
            return None
        clean = self._redactor.redact_json(msgspec.json.encode(digest))
        return msgspec.json.decode(clean, type=Digest)

    def resolution(self, line: SessionLine) -> Resolution | None:
        """The session's project, as the other store found it where the session ran."""
        project, about = line.project, line.session.metadata
        if project is None:
            return None
        warnings = about.get("project_resolution_warnings")
        return Resolution(
            key=self.word(project.key),
            root=self._optional(project.root),
            remote=self._optional(project.remote),
            worktree_of=self._optional(project.worktree_of),
            repo=self._optional(line.session.repo),
            source=str(about.get("project_resolution_source") or project.source),
            confidence=_confidence(about.get("project_resolution_confidence")),
            warnings=tuple(self.word(w) for w in warnings) if isinstance(warnings, list) else (),
        )

    def _optional(self, text: str | None) -> str | None:
        return None if text is None else self.word(text)


def _confidence(told: object) -> Confidence:
    return told if told in ("high", "medium") else "low"
