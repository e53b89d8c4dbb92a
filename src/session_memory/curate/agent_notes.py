"""What agents write for the user: it waits, in one file, until the user confirms or rejects it.

An agent may be under the influence of a page it read, so that nothing of this is given to any
session before a person said yes.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from session_memory.atomic_files import replace_file
from session_memory.core.forget import ForgottenSessions
from session_memory.core.text.safe_text import one_line, stripped
from session_memory.errors import NotFound, Refused, UsageError
from session_memory.paths import private_dir
from session_memory.store.json_files import read_json_file
from session_memory.store.lock import exclusive

NOTES = "agent-notes.json"
TEXT_LIMIT = 400
MAX_WAITING = 200
"""An agent in a loop must not fill the disk, nor the list that a person has to read."""
_ID_BYTES = 4
UNKNOWN = "unknown"
"""The session of a note whose agent did not name it."""

Kind = Literal["observation", "rule", "correction", "memory", "wording"]
"""`memory` is a line for MEMORY.md; `wording` is a text for a rule that detection found."""
State = Literal["waiting", "confirmed", "rejected", "undone"]


class Note(msgspec.Struct, frozen=True):
    """One statement of an agent, and what became of it."""

    id: str
    kind: Kind
    text: str
    root: str
    """The project it is about."""
    flavor: str
    """The agent that wrote it, in which session, and when."""
    session: str
    at: int
    evidence: tuple[int, ...] = ()
    """Events that it cites."""
    cited: tuple[tuple[str, str], ...] = ()
    """The sessions of those events: agent and native id."""
    pattern: str = ""
    """The rule that a wording is for, or that a confirmed rule became."""
    before: str = ""
    """The words that a confirmed wording replaced."""
    state: State = "waiting"
    decided_at: int | None = None


def read_notes(data: Path) -> list[Note]:
    """All notes, oldest first; raises Refused where the file cannot be read."""
    return read_json_file(data / NOTES, list[Note], "move that file away") or []


def waiting(notes: list[Note], root: str | None = None) -> list[Note]:
    """The notes that wait for a decision, of one project or of all."""
    return [note for note in notes if note.state == "waiting" and root in (None, note.root)]


@contextmanager
def changing_notes(data: Path) -> Generator[list[Note]]:
    """The notes under a lock; the list is written back if it changed."""
    private_dir(data)
    with exclusive(str(data / "agent-notes.lock"), "another writer of notes", wait=True):
        notes = read_notes(data)
        before = list(notes)
        yield notes
        if notes != before:
            replace_file(data / NOTES, msgspec.json.encode(notes))


def add_note(data: Path, note: Note) -> Note:
    """Keep a note for the user to decide on; one that says the same and waits already is kept."""
    text = one_line(stripped(note.text)).strip()
    if not text or len(text) > TEXT_LIMIT:
        raise UsageError(f"a note must have 1 to {TEXT_LIMIT} characters")
    with changing_notes(data) as notes:
        for other in waiting(notes, note.root):
            if (other.kind, other.text, other.pattern) == (note.kind, text, note.pattern):
                return other
        if len(waiting(notes)) >= MAX_WAITING:
            raise Refused(
                f"{MAX_WAITING} notes wait already",
                hint="the user decides on them with `session-memory project memory review`",
            )
        added = replace(note, id=_new_id(notes), text=text, state="waiting")
        notes.append(added)
        return added


def find_note(notes: list[Note], reference: str) -> Note:
    """The note that an id, or its beginning, names."""
    named = [note for note in notes if reference and note.id.startswith(reference)]
    if len(named) != 1:
        what = "no note" if not named else f"{len(named)} notes"
        raise NotFound(
            f"{what} named {one_line(reference[:40])!r}", hint="`project memory notes` lists them"
        )
    return named[0]


def set_state(data: Path, note: Note, state: State, now: int, pattern: str = "") -> Note:
    """Record what became of a note."""
    decided = replace(note, state=state, decided_at=now, pattern=pattern or note.pattern)
    with changing_notes(data) as notes:
        notes[:] = [decided if other.id == note.id else other for other in notes]
    return decided


def forget_notes(data: Path, forgotten: ForgottenSessions) -> list[Note]:
    """Remove notes that forgotten sessions wrote or are cited in; returns the removed notes."""
    with changing_notes(data) as notes:
        removed = [
            note
            for note in notes
            if forgotten.sessions & {(note.flavor, note.session), *note.cited}
            or forgotten.owns(note.root)
        ]
        notes[:] = [note for note in notes if note not in removed]
    return removed


def rewrite_notes(data: Path, rewrite: Callable[[str], str]) -> None:
    """Replace words in every note."""
    with changing_notes(data) as notes:
        notes[:] = [
            replace(note, text=rewrite(note.text), before=rewrite(note.before)) for note in notes
        ]


def _new_id(notes: list[Note]) -> str:
    import secrets  # every sweep that stored something reads notes, and few write one

    taken = {note.id for note in notes}
    while (name := f"n-{secrets.token_hex(_ID_BYTES)}") in taken:
        pass
    return name
