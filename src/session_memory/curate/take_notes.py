"""Takes in what an agent writes: redacted, checked against what it cites, kept for the user."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from session_memory.clock import Clock
from session_memory.core.event_ids import split
from session_memory.core.loop.catalog import Pattern, seen_in
from session_memory.core.schema import Project
from session_memory.curate.agent_notes import Kind, Note, add_note
from session_memory.curate.catalog import read_catalog
from session_memory.curate.decisions import full_id
from session_memory.curate.review import find
from session_memory.errors import NotFound, SessionMemoryError, UsageError
from session_memory.memory.support import events_in, without_citations
from session_memory.memory.support_sources import why_not_supported_by
from session_memory.store.port import SessionReader

NEXT = (
    "nothing is used before the user confirms it: `session-memory project memory review`, or the"
    " page of `session-memory web`"
)


class Writer(msgspec.Struct, frozen=True):
    """The agent that writes, in which session, about which project, and what writing needs."""

    store: SessionReader
    flavor: str
    session: str
    project: Project
    data: Path
    clock: Clock
    redact: Callable[[str], str]
    only: str | None = None
    """The project of a server that answers for it alone."""


class NoteAnswer(msgspec.Struct, frozen=True):
    """A note that waits now."""

    id: str
    kind: Kind
    text: str


class RefusedLine(msgspec.Struct, frozen=True):
    """A line that was not taken, and why."""

    text: str
    reason: str


class NotesTaken(msgspec.Struct, frozen=True):
    """What became of each line."""

    waiting: tuple[NoteAnswer, ...]
    refused: tuple[RefusedLine, ...] = ()
    next_action: str = NEXT


def take_note(writer: Writer, kind: Kind, text: str, evidence: Sequence[int]) -> NotesTaken:
    """Keep one note; what it cites must be of this project and support it."""
    clean = writer.redact(text)
    if evidence and (
        reason := why_not_supported_by(writer.store, clean, _checked(writer, evidence))
    ):
        raise UsageError(f"refused: {reason}", hint="cite the events that say it, or none")
    return NotesTaken((_add(writer, kind, clean, evidence),))


def take_memory_lines(writer: Writer, lines: Sequence[str]) -> NotesTaken:
    """Keep lines for MEMORY.md; each must cite events that support it, or is refused alone."""
    if not lines:
        raise UsageError("no line is given", hint="lines takes one fact each, with its [e:ID]")
    waiting: list[NoteAnswer] = []
    refused: list[RefusedLine] = []
    for line in lines:
        clean = writer.redact(line).strip().removeprefix("- ")
        try:
            cited = _checked(writer, events_in(clean))
            if not cited:
                raise UsageError("it cites nothing")
            statement = without_citations(clean)
            if reason := why_not_supported_by(writer.store, statement, cited):
                raise UsageError(reason)
            waiting.append(_add(writer, "memory", statement, cited))
        except SessionMemoryError as error:
            refused.append(RefusedLine(clean, error.message))
    return NotesTaken(tuple(waiting), tuple(refused))


def take_wording(writer: Writer, pattern: str, text: str) -> NotesTaken:
    """Keep other words for a rule that detection found."""
    catalog = read_catalog(writer.data)
    entry = find(catalog, full_id(catalog, pattern))
    evidence = entry.current.evidence if isinstance(entry, Pattern) else entry.evidence
    if seen_in(evidence, writer.only) is None:
        raise NotFound(f"no rule {entry.id}", hint="the prompt review-rules names them")
    return NotesTaken((_add(writer, "wording", writer.redact(text), (), entry.id),))


def _checked(writer: Writer, events: Sequence[int]) -> Sequence[int]:
    """The events, if all are of the writer's project."""
    heights = writer.store.heights()
    for number in events:
        session_id, seq = split(number)
        if (
            seq >= heights.get(session_id, 0)
            or writer.store.session(session_id).project_id != writer.project.id
        ):
            raise NotFound(f"event {number} is not one of this project's")
    return events


def _add(
    writer: Writer,
    kind: Kind,
    text: str,
    evidence: Sequence[int],
    pattern: str = "",
) -> NoteAnswer:
    sessions = [
        writer.store.session(number) for number in sorted({split(event)[0] for event in evidence})
    ]
    note = Note(
        id="",
        kind=kind,
        text=text,
        root=writer.project.root or writer.project.key,
        flavor=writer.flavor,
        session=writer.session,
        at=writer.clock(),
        evidence=tuple(evidence),
        cited=tuple((session.flavor, session.external_id) for session in sessions),
        pattern=pattern,
    )
    added = add_note(writer.data, note)
    return NoteAnswer(added.id, added.kind, added.text)
