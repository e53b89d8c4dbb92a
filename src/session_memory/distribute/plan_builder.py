"""What a plan consists of, and the builder that `plan.py` and `undo.py` fill.

Files are read through a parameter, and nothing is written.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import Literal

import msgspec

from session_memory.core.text.inserted import said_lines
from session_memory.distribute.files import FileContent
from session_memory.distribute.ledger import Entry, Ledger, TargetFile
from session_memory.distribute.ownership import Blocks, skill_state, sort_blocks
from session_memory.errors import Refused

ReadFile = Callable[[str, str], FileContent]
"""(root, path below it) -> the file."""


class Change(msgspec.Struct, frozen=True):
    """One file before and after."""

    place: TargetFile
    real: str
    repo: str
    kind: Literal["block", "skill"]
    before: bytes | None
    after: bytes | None
    patterns: tuple[str, ...]
    why: str
    edited: bytes | None = None
    """A user's edit of our block or skill that `--force` overwrites."""


class LeftOut(msgspec.Struct, frozen=True):
    """A pattern that is not written into a file it could have gone into."""

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


class PlanBuilder:
    """Collects the changes of a plan, and refuses files that must not be changed."""

    def __init__(self, ledger: Ledger, read: ReadFile, *, force: bool, command: str) -> None:
        self.entries, self.seal = ledger.by_file(), ledger.seal
        self.read, self.force = read, force
        self.command = command
        """What the user typed, to say what to type instead."""
        self.changes: list[Change] = []
        self.unchanged: list[Change] = []
        self.left_out: list[LeftOut] = []
        self.refused: list[Refusal] = []
        self.left_alone: dict[Refusal, None] = {}
        self.visited: set[TargetFile] = set()
        self._planned: set[str] = set()

    def plan(self) -> Plan:
        """The finished plan."""
        return Plan(
            changes=tuple(self.changes),
            unchanged=tuple(self.unchanged),
            left_out=tuple(self.left_out),
            refused=tuple(self.refused),
            left_alone=tuple(self.left_alone),
        )

    def add(self, change: Change) -> None:
        """Add a change; one that changes nothing is listed apart."""
        (self.unchanged if change.before == change.after else self.changes).append(change)

    def drop_entry(self, entry: Entry, content: FileContent) -> None:
        """Leave the file as it is; the ledger stops naming it."""
        self.add(
            Change(
                place=entry.place,
                real=content.real,
                repo=entry.repo,
                kind=entry.kind,
                before=content.data,
                after=content.data,
                patterns=(),
                why="nothing is there",
            )
        )

    def is_planned(self, file: TargetFile, content: FileContent) -> bool:
        """Whether the file was planned under another name that links to it; once is enough."""
        if content.real not in self._planned:
            self._planned.add(content.real)
            return False
        if entry := self.entries.get(file):
            self.drop_entry(entry, content)
        return True

    def refuse(self, where: str, why: str) -> None:
        """Report a file or repository that is not touched."""
        self.refused.append(Refusal(where, why))

    def refuse_error(self, file: TargetFile, error: Refused) -> None:
        """Report why a file cannot be planned."""
        why = f"{error.message}; {error.hint}" if error.hint else error.message
        self.refuse(file.full_path, why)

    def blocks_of(self, file: TargetFile, content: FileContent) -> Blocks:
        """The blocks of a file; raises Refused if ours was edited, except with --force."""
        if content.problem:
            raise Refused(content.problem)
        blocks = sort_blocks(content.data, self.seal, self.entries.get(file))
        for other in blocks.others:
            self._leave_alone(file, f"the block in {said_lines(other.lines)}", "delete those lines")
        if blocks.ours is not None and blocks.is_edited and not self.force:
            what = f"the block of session-memory in {said_lines(blocks.ours.lines)}"
            keeping = "to keep your words, delete the two marker lines around them"
            raise Refused(self._edited(file, what, keeping))
        return blocks

    def may_write_skill(self, file: TargetFile, content: FileContent) -> bool:
        """Whether a skill file is ours to write or remove; reports why if not."""
        if content.problem:
            self.refuse(file.full_path, content.problem)
            return False
        if content.data is None:
            return True
        state = skill_state(content.data, self.seal, self.entries.get(file))
        if state == "theirs":
            self._leave_alone(file, "the skill", "delete it")
        elif state == "edited" and not self.force:
            keeping = "to keep your words, move the file to a folder of another name"
            self.refuse(file.full_path, self._edited(file, "the skill of session-memory", keeping))
        else:
            return True
        return False

    def skill_edit(self, file: TargetFile, content: FileContent) -> bytes | None:
        """The content of a skill if it was edited by hand."""
        if content.data is None:
            return None
        state = skill_state(content.data, self.seal, self.entries.get(file))
        return content.data if state == "edited" else None

    def _leave_alone(self, file: TargetFile, what: str, how: str) -> None:
        why = f"{what} is left alone: this store did not write it; if nobody needs it, {how}"
        self.left_alone[Refusal(file.full_path, why)] = None

    def _edited(self, file: TargetFile, what: str, keeping: str) -> str:
        way = f"`{self.command} --force --repo {shlex.quote(file.root)}` overwrites the edit"
        return f"{what} was edited: {way}; {keeping}"


def block_edit(blocks: Blocks) -> bytes | None:
    """The content of our block if it was edited by hand."""
    return blocks.ours.content if blocks.ours is not None and blocks.is_edited else None
