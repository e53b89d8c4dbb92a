"""A plan in the making: what files hold, whose it is, and what is kept for the user to read.

Functions of values: files are read through a parameter, and nothing is written.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Literal

import msgspec

from session_memory.core.text.inserted import said_lines
from session_memory.distribute.files import Seen
from session_memory.distribute.ledger import Entry, Ledger, Place
from session_memory.distribute.ownership import Blocks, skill_state, sort_blocks
from session_memory.errors import Refused

Read = Callable[[str, str], Seen]
"""(root, path below it) -> the file as it is."""


class Change(msgspec.Struct, frozen=True):
    """One file before and after."""

    place: Place
    real: str
    repo: str
    kind: Literal["block", "skill"]
    before: bytes | None
    after: bytes | None
    patterns: tuple[str, ...]
    why: str
    edited: bytes | None = None
    """What somebody had written into our block, where it is overwritten on request."""


class LeftOut(msgspec.Struct, frozen=True):
    """A pattern that does not go where it could have gone."""

    pattern: str
    where: str
    why: str


class Refusal(msgspec.Struct, frozen=True):
    """A file or repository that is not touched."""

    where: str
    why: str


class Plan(msgspec.Struct, frozen=True):
    """Everything one run would do."""

    changes: tuple[Change, ...] = ()
    unchanged: tuple[Change, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    refused: tuple[Refusal, ...] = ()
    left_alone: tuple[Refusal, ...] = ()
    """Blocks and skills that this store did not write."""


class Draft:
    """A plan in the making."""

    def __init__(self, ledger: Ledger, read: Read, force: bool, command: str) -> None:
        self.known, self.seal = ledger.by_place(), ledger.seal
        self.read, self.force = read, force
        self.command = command
        """What the user typed, to say what to type instead."""
        self.changes: list[Change] = []
        self.unchanged: list[Change] = []
        self.left_out: list[LeftOut] = []
        self.refused: list[Refusal] = []
        self.left_alone: dict[Refusal, None] = {}
        self.visited: set[Place] = set()
        self._done: set[str] = set()

    def add(self, change: Change) -> None:
        """Keep what changes apart from what is as it should be."""
        (self.unchanged if change.before == change.after else self.changes).append(change)

    def is_done(self, place: Place, seen: Seen) -> bool:
        """Whether a file was planned by another name, which is a link to it; then one will do."""
        if seen.real not in self._done:
            self._done.add(seen.real)
            return False
        if entry := self.known.get(place):
            self.add(without(entry, seen))
        return True

    def refuse(self, place: Place, why: str) -> None:
        """Leave a file as it is."""
        self.refused.append(Refusal(f"{place.root}/{place.path}", why))

    def leave_alone(self, place: Place, why: str) -> None:
        """Tell of something that is not ours; the rest of the file is dealt with."""
        self.left_alone[Refusal(f"{place.root}/{place.path}", why)] = None

    def edited(self, place: Place, what: str, keeping: str) -> str:
        """Why something of ours is left as somebody edited it, and what to type."""
        way = f"`{self.command} --force --repo {shlex.quote(place.root)}` overwrites the edit"
        return f"{what} was edited: {way}; {keeping}"

    def plan(self) -> Plan:
        """The finished plan."""
        return Plan(
            *(tuple(self.changes), tuple(self.unchanged)),
            *(tuple(self.left_out), tuple(self.refused), tuple(self.left_alone)),
        )


def without(entry: Entry, seen: Seen) -> Change:
    """No change of the file; the ledger only stops naming it."""
    same = seen.data, seen.data
    return Change(entry.place, seen.real, entry.repo, entry.kind, *same, (), "nothing is there")


def blocks_of(draft: Draft, place: Place, seen: Seen) -> Blocks:
    """The blocks of a file; refuses one whose block of ours was edited, unless that may go."""
    if seen.problem:
        raise Refused(seen.problem)
    blocks = sort_blocks(seen.data, draft.seal, draft.known.get(place))
    for other in blocks.others:
        why = "this store did not write it; if nobody needs it, delete those lines"
        draft.leave_alone(place, f"the block in {said_lines(other.lines)} is left alone: {why}")
    if blocks.ours is not None and blocks.is_edited and not draft.force:
        what = f"the block of session-memory in {said_lines(blocks.ours.lines)}"
        keeping = "to keep your words, delete the two marker lines around them"
        raise Refused(draft.edited(place, what, keeping))
    return blocks


def edit_in(blocks: Blocks) -> bytes | None:
    """What somebody wrote into our block."""
    return blocks.ours.content if blocks.ours is not None and blocks.is_edited else None


def told(error: Refused) -> str:
    return f"{error.message}; {error.hint}" if error.hint else error.message


def may_write_skill(draft: Draft, place: Place, seen: Seen) -> bool:
    """Whether a skill file is ours to write or remove; tells why where it is not."""
    if seen.problem:
        draft.refuse(place, seen.problem)
    elif seen.data is None:
        return True
    else:
        state = skill_state(seen.data, draft.seal, draft.known.get(place))
        if state == "ours" or (state == "edited" and draft.force):
            return True
        if state == "edited":
            keeping = "to keep your words, move the file to a folder of another name"
            draft.refuse(place, draft.edited(place, "the skill of session-memory", keeping))
        else:
            why = "this store did not write it; if nobody needs it, delete it"
            draft.leave_alone(place, f"the skill is left alone: {why}")
    return False


def skill_edit(draft: Draft, place: Place, seen: Seen) -> bytes | None:
    """A skill that somebody edited."""
    if seen.data is None:
        return None
    state = skill_state(seen.data, draft.seal, draft.known.get(place))
    return seen.data if state == "edited" else None
