"""What agents noted for the user: it waits on the page of its project for a yes or a no."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import quote

import msgspec

from session_memory.core.schema import Session
from session_memory.curate.agent_notes import Note, find_note, read_notes
from session_memory.errors import NotFound, Refused, UsageError
from session_memory.memory.layout import normalised
from session_memory.store.port import Store
from session_memory.web.context import WebContext
from session_memory.web.page import GoTo, PageRequest

_DECIDED = 50
"""Decisions that are shown; the command line lists all."""


class ShownNotes(msgspec.Struct, frozen=True):
    """Notes as the page shows them."""

    waiting: list[Note]
    decided: list[Note]
    sessions: dict[str, Session | None]
    """Who wrote each, by the note's id; None for a session that is not stored."""
    trouble: str
    """Why notes cannot be shown."""
    project: str
    """Whose page shows them; empty for notes about no project."""


def known_notes(web: WebContext) -> tuple[list[Note], str]:
    """All notes; where their file cannot be read, none and what helps."""
    try:
        return read_notes(web.paths.data), ""
    except Refused as refused:
        return [], f"{refused.message}: {refused.hint}"


def shown_notes(store: Store, notes: Collection[Note], trouble: str, project: str) -> ShownNotes:
    """Those that wait, then the latest decisions."""
    wait = [note for note in notes if note.state == "waiting"]
    decided = [note for note in notes if note.state != "waiting"]
    decided = sorted(decided, key=lambda note: -(note.decided_at or 0))[:_DECIDED]
    sessions = {note.id: store.own_session(note.session, note.flavor) for note in (*wait, *decided)}
    return ShownNotes(wait, decided, sessions, trouble, project)


def of_root(notes: Collection[Note], root: str) -> list[Note]:
    """The notes about one project."""
    return [note for note in notes if normalised(note.root) == root]


def decide_on_note(web: WebContext, page_request: PageRequest) -> GoTo:
    """Confirm or reject one note, or take such a decision back."""
    # Slow to import, and not needed to show notes.
    from session_memory.curate.decisions import default_reviewer
    from session_memory.curate.note_decisions import confirm_note, reject_note, undo_note

    choice, reference = page_request.form.get("choice", ""), page_request.path["note"]
    project = page_request.form.get("project", "")
    here = f"/memory/{quote(project, safe='')}" if project else "/memory"
    context, who = web.curate, default_reviewer(web.environ)
    note = find_note(read_notes(web.paths.data), reference)
    try:
        match choice:
            case "confirm":
                return GoTo(here, _confirmed(confirm_note(context, note.id, who)))
            case "reject":
                reject_note(context, note.id)
                return GoTo(here, "The note is rejected: no session is given it.")
            case "undo":
                undo_note(context, note.id, who)
                return GoTo(here, "The decision was taken back: the note waits again.")
            case _:
                raise NotFound(f"There is no decision {choice!r}")
    except (Refused, UsageError) as refused:
        return GoTo(here, f"{refused.message}. {refused.hint or ''}".strip())


def _confirmed(note: Note) -> str:
    if note.kind == "wording":
        return f"Rule {note.pattern} is worded so now; its page says whether agents are given it."
    if note.kind == "rule":
        return f"It is rule {note.pattern} now: the page Rules writes it into files."
    return "It is in your part of MEMORY.md now."
