"""The tools that are not recall: cures of errors, and what an agent writes for the user."""

from __future__ import annotations

import msgspec

from session_memory.curate import take_notes
from session_memory.curate.note_requests import (
    DraftRequest,
    FixRequest,
    MemoryWriteRequest,
    NoteRequest,
)
from session_memory.curate.take_notes import NotesTaken, Writer
from session_memory.detect.fix import Cure, fix
from session_memory.recall.context import RecallContext
from session_memory.store.port import SessionQuery, SessionReader


class FixAnswer(msgspec.Struct, frozen=True):
    """What is known about an error."""

    known: bool
    problem: str | None = None
    match: str | None = None
    sessions: int = 0
    cures: tuple[Cure, ...] = ()


def fix_error(context: RecallContext, request: FixRequest) -> FixAnswer:
    """mem_fix."""
    among = sessions_of(context.store, request.project_key)
    answer = fix(context.store.patterns, request.error, among)
    if answer is None:
        return FixAnswer(known=False)
    return FixAnswer(True, answer.problem, answer.match, answer.sessions, answer.cures)


def sessions_of(store: SessionReader, project_key: str | None) -> set[int] | None:
    """The sessions of a project; None stands for those of every project."""
    if project_key is None:
        return None
    query = SessionQuery(project=project_key, include_subagents=True, limit=None)
    return {session.id for session in store.sessions(query)}


def note(writer: Writer, request: NoteRequest) -> NotesTaken:
    """mem_note."""
    return take_notes.take_note(writer, request.kind, request.text, request.evidence)


def draft(writer: Writer, request: DraftRequest) -> NotesTaken:
    """mem_draft."""
    return take_notes.take_wording(writer, request.pattern_id, request.text)


def write_memory(writer: Writer, request: MemoryWriteRequest) -> NotesTaken:
    """mem_memory_write."""
    return take_notes.take_memory_lines(writer, request.lines)
