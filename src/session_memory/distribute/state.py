"""Whether the files that were written are still as they were written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec

from session_memory.distribute.block import find_block
from session_memory.distribute.ledger import Entry, Ledger
from session_memory.distribute.plan import Read
from session_memory.distribute.render import is_own_skill
from session_memory.errors import Refused

State = Literal["in place", "edited", "missing", "damaged", "out of reach"]


class FileState(msgspec.Struct, frozen=True):
    """One file of the ledger, as it is now."""

    root: str
    path: str
    state: State
    patterns: tuple[str, ...]
    at: int
    replaced: tuple[str, ...] = ()
    """Edits that were overwritten on request."""


def states(
    ledger: Ledger, read: Read, problem: Callable[[str], str | None]
) -> tuple[FileState, ...]:
    """Every file of the ledger with what became of it."""
    return tuple(
        FileState(
            *(entry.place.root, entry.place.path, _state(entry, read, problem)),
            *(entry.patterns, entry.at, entry.replaced),
        )
        for entry in ledger.entries
    )


def _state(entry: Entry, read: Read, problem: Callable[[str], str | None]) -> State:
    if problem(entry.place.root):
        return "out of reach"
    seen = read(entry.place.root, entry.place.path)
    if seen.problem:
        return "damaged"
    if seen.data is None:
        return "missing"
    if entry.kind == "skill":
        return "in place" if is_own_skill(seen.data) else "edited"
    try:
        known = find_block(seen.data)
    except Refused:
        return "damaged"
    if known is None:
        return "missing"
    return "edited" if known.is_edited else "in place"


def holding(ledger: Ledger, read: Read, words: Callable[[bytes], bool]) -> tuple[str, ...]:
    """Files of the ledger in which words still stand, ours or the user's."""
    found: list[str] = []
    for entry in ledger.entries:
        seen = read(entry.place.root, entry.place.path)
        if seen.data is not None and words(seen.data):
            found.append(f"{entry.place.root}/{entry.place.path}")
    return tuple(found)
