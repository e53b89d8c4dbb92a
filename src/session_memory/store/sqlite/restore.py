"""Preparing a store from a backup: copied, brought up to date, without what was forgotten since."""

from __future__ import annotations

import os

import apsw
import msgspec

from session_memory.errors import SessionMemoryError, StoreDamaged
from session_memory.store import marks
from session_memory.store.backups import Progress
from session_memory.store.damage import DATABASE
from session_memory.store.marks import Marks
from session_memory.store.port import Store
from session_memory.store.sqlite.backup import copy_store, reading
from session_memory.store.sqlite.store import open_store


class PresentStore(msgspec.Struct, frozen=True):
    """The store that a restore replaces."""

    exists: bool
    sessions: int = 0
    events: int = 0
    last_event_at: int | None = None
    unreadable: str | None = None
    """Why it cannot be read, if it cannot."""
    marks: Marks = Marks()
    """What was forgotten in it."""
    marks_lost: bool = False
    """Whether neither the file of marks nor the database say what was forgotten."""


def inspect_present(directory: str, now_ms: int) -> PresentStore:
    """What is there now, as far as it can be read."""
    stored_marks, unreadable = Marks(), None
    has_marks = False
    try:
        file = marks.read_marks(directory)
        if file is not None:
            stored_marks, has_marks = file.marks, True
    except SessionMemoryError as error:
        unreadable = error.message
    exists = os.path.exists(os.path.join(directory, DATABASE))
    info = None
    try:
        with open_store(directory, now_ms, read_only=True) as store:
            stored_marks, has_marks = marks.merge(stored_marks, store.marks()), True
            info = store.info()
            damage = store.quick_check()
            unreadable = None if damage == "ok" else damage
    except (SessionMemoryError, apsw.Error) as error:
        unreadable = str(error) if exists else None
    return PresentStore(
        exists=exists,
        sessions=info.sessions if info else 0,
        events=info.events if info else 0,
        last_event_at=info.last_event_at if info else None,
        unreadable=unreadable,
        marks=stored_marks,
        marks_lost=not has_marks
        and (marks.are_lost(directory) or os.path.exists(marks.path_in(directory))),
    )


def stage_backup(source: str, target: str, progress: Progress) -> None:
    """Copy a backup that was checked into an empty directory."""
    try:
        with reading(os.path.join(source, DATABASE)) as database:
            copy_store(database, source, target, progress)
    except apsw.Error as error:
        raise StoreDamaged(f"{source} cannot be read: {error}") from None
    marks.add_marks(target, Marks())  # a backup of an older program has no such file


def refuse_damage(store: Store, source: str) -> None:
    """The last look before a prepared store takes its place."""
    wrong = [
        f"{finding.check}: {finding.detail}"
        for finding in store.fsck()
        if finding.severity == "error"
    ]
    if wrong:
        raise StoreDamaged(
            f"{source} did not come out whole: {'; '.join(wrong[:5])}",
            hint="the present store was not touched; use another backup",
        )
