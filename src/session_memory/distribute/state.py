"""Whether the files that were written are still as they were written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from session_memory.core.text.seal import Seal
from session_memory.distribute.draft import Read
from session_memory.distribute.ledger import Entry, Ledger, Place
from session_memory.distribute.ownership import skill_state, sort_blocks
from session_memory.errors import Refused

State = Literal["in place", "edited", "missing", "not ours", "damaged", "out of reach", "taken out"]
_OF_SKILL: dict[str, State] = {"ours": "in place", "edited": "edited", "theirs": "not ours"}


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
            *(entry.place.root, entry.place.path, _state(entry, read, problem, ledger.seal)),
            *(entry.patterns, entry.at, entry.replaced),
        )
        for entry in ledger.entries
    )


def _state(entry: Entry, read: Read, problem: Callable[[str], str | None], seal: Seal) -> State:
    if not entry.patterns:  # the entry is kept for the edits that were overwritten
        return "taken out"
    if problem(entry.place.root):
        return "out of reach"
    seen = read(entry.place.root, entry.place.path)
    if seen.problem:
        return "damaged"
    if seen.data is None:
        return "missing"
    if entry.kind == "skill":
        return _OF_SKILL[skill_state(seen.data, seal, entry)]
    try:
        blocks = sort_blocks(seen.data, seal, entry)
    except Refused:
        return "damaged"
    if blocks.ours is None:
        return "not ours" if blocks.others else "missing"
    return "edited" if blocks.is_edited else "in place"


def files_holding(
    ledger: Ledger, read: Read, test: Callable[[bytes], bool], also: Iterable[Place] = ()
) -> tuple[str, ...]:
    """Files of the ledger, and others, whose content passes a test."""
    places = dict.fromkeys((*(entry.place for entry in ledger.entries), *also))
    found: list[str] = []
    for place in places:
        seen = read(place.root, place.path)
        if seen.data is not None and test(seen.data):
            found.append(f"{place.root}/{place.path}")
    return tuple(found)
