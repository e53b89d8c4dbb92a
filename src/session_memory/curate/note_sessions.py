"""Which session wrote a note, where the agent did not say: its log shows it, once captured."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from session_memory.clock import Clock
from session_memory.core.schema import Session
from session_memory.curate.agent_notes import UNKNOWN, Note, changing_notes
from session_memory.curate.note_decisions import memory_line
from session_memory.errors import Refused
from session_memory.memory.user_lines import UserLines
from session_memory.store.port import MemoryStore, SessionQuery, SessionReader

_WRITES = ("mem_note", "mem_draft", "mem_memory_write")


def find_writers(store: MemoryStore, data: Path, clock: Clock) -> int:
    """Give notes without a session the one whose log shows the call; returns how many got one."""
    lines, count = UserLines(store, data, clock), 0
    with changing_notes(data) as notes:
        for index, note in enumerate(notes):
            session = writer_of(store, note) if note.session == UNKNOWN else None
            if session is None:
                continue
            with_session = replace(note, session=session.external_id)
            try:
                lines.replace(note.root, memory_line(note), memory_line(with_session))
            except Refused:
                continue  # its memory is being written: the next sweep tries again
            notes[index] = with_session
            count += 1
    return count


def without_session(notes: Iterable[Note]) -> list[Note]:
    """The notes whose session is unknown."""
    return [note for note in notes if note.session == UNKNOWN]


def writer_of(store: SessionReader, note: Note) -> Session | None:
    """The session of that agent and project, under way at that time, that called a tool to write.

    Of several the one whose call is nearest in time, then the newest.
    """
    keys = {project.key for project in store.projects() if note.root in (project.root, project.key)}
    at_that_time = SessionQuery(flavor=note.flavor, since=note.at, until=note.at + 1)
    under_way = [s for s in store.sessions(at_that_time) if s.project_key in keys]
    distances = [(distance, s) for s in under_way if (distance := _distance(store, s, note.at))]
    return min(distances, key=lambda pair: pair[0])[1] if distances else None


def _distance(store: SessionReader, session: Session, at: int) -> int | None:
    """Milliseconds between a time and the nearest call to write; at least one."""
    calls = (
        abs(at - event.at) + 1
        for event in store.events(session.id)
        if event.kind == "tool_call" and event.at and (event.tool or "").endswith(_WRITES)
    )
    return min(calls, default=None)
