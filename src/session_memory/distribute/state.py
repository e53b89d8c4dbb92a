"""Whether the files we wrote are still as we wrote them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from session_memory.core.text.seal import Seal
from session_memory.distribute.ledger import Entry, Ledger, TargetFile
from session_memory.distribute.ownership import skill_state, sort_blocks
from session_memory.distribute.plan_builder import ReadFile
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
    ledger: Ledger, read: ReadFile, problem: Callable[[str], str | None]
) -> tuple[FileState, ...]:
    """The state of every file of the ledger."""
    return tuple(
        FileState(
            root=entry.place.root,
            path=entry.place.path,
            state=_state(entry, read, problem, ledger.seal),
            patterns=entry.patterns,
            at=entry.at,
            replaced=entry.replaced,
        )
        for entry in ledger.entries
    )


def _state(entry: Entry, read: ReadFile, problem: Callable[[str], str | None], seal: Seal) -> State:
    if not entry.patterns:  # the entry is kept for the edits that were overwritten
        return "taken out"
    if problem(entry.place.root):
        return "out of reach"
    content = read(entry.place.root, entry.place.path)
    if content.problem:
        return "damaged"
    if content.data is None:
        return "missing"
    if entry.kind == "skill":
        return _OF_SKILL[skill_state(content.data, seal, entry)]
    try:
        blocks = sort_blocks(content.data, seal, entry)
    except Refused:
        return "damaged"
    if blocks.ours is None:
        return "not ours" if blocks.others else "missing"
    return "edited" if blocks.is_edited else "in place"


def files_holding(
    ledger: Ledger, read: ReadFile, test: Callable[[bytes], bool], also: Iterable[TargetFile] = ()
) -> tuple[str, ...]:
    """Files of the ledger, and others, whose content passes a test."""
    files = dict.fromkeys((*(entry.place for entry in ledger.entries), *also))
    return tuple(
        file.full_path
        for file in files
        if (data := read(file.root, file.path).data) is not None and test(data)
    )
