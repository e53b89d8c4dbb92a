"""The records of an imported session, redacted by the rules of this store."""

from __future__ import annotations

import msgspec

from session_memory.core.facts import Fact
from session_memory.core.project.identity import Resolution
from session_memory.core.schema import Confidence, Digest, Observation
from session_memory.export.records import FactLine, SessionLine
from session_memory.redact.engine import Redactor
from session_memory.store.exchange import Note


class RecordRedactor:
    """Redacts records; caches texts, as the same few come often."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._cache: dict[str, str] = {}

    def word(self, text: str) -> str:
        """A redacted name, path or title."""
        clean = self._cache.get(text)
        if clean is None:
            clean = self._redactor.redact_text(text)
            if len(self._cache) < 10_000:
                self._cache[text] = clean
        return clean

    def fact(self, line: FactLine) -> Fact:
        """A fact that a log states."""
        value = self.word(line.value) if isinstance(line.value, str) else line.value
        return Fact(line.name, value, line.pos)

    def notes(self, line: SessionLine) -> tuple[Note, ...]:
        """The notes of hooks."""
        return tuple(Note(note.name, self.word(note.value), note.at) for note in line.notes)

    def lasting(self, line: SessionLine, session_id: int) -> list[Observation]:
        """Notes, and observations from text that the other store had evicted.

        They refer to no event: theirs have no number here.
        """
        lasting = set(line.lasting)
        return [
            msgspec.structs.replace(
                observation,
                session=session_id,
                event=None,
                text=self.word(observation.text),
                importance=min(max(observation.importance, 1), 5),
            )
            for observation in line.observations
            if observation.hash in lasting
        ]

    def digest(self, digest: Digest | None) -> Digest | None:
        """A redacted digest."""
        if digest is None:
            return None
        clean = self._redactor.redact_json(msgspec.json.encode(digest))
        return msgspec.json.decode(clean, type=Digest)

    def resolution(self, line: SessionLine) -> Resolution | None:
        """The session's project, as the other store found it where the session ran."""
        project, metadata = line.project, line.session.metadata
        if project is None:
            return None
        warnings = metadata.get("project_resolution_warnings")
        return Resolution(
            key=self.word(project.key),
            root=self._optional(project.root),
            remote=self._optional(project.remote),
            worktree_of=self._optional(project.worktree_of),
            repo=self._optional(line.session.repo),
            source=str(metadata.get("project_resolution_source") or project.source),
            confidence=_confidence(metadata.get("project_resolution_confidence")),
            warnings=tuple(self.word(w) for w in warnings) if isinstance(warnings, list) else (),
        )

    def _optional(self, text: str | None) -> str | None:
        return None if text is None else self.word(text)


def _confidence(value: object) -> Confidence:
    return value if value in ("high", "medium") else "low"
