"""Whose history a line of a rollout file is: a fork's file begins with a copy of its parent's."""

from __future__ import annotations

import msgspec

from session_memory.adapters.common import Json

BURST_MS = 1000
"""Copies that carry no time of their own are written within this time of the file's first line."""


class Lineage(msgspec.Struct):
    """The threads a file speaks of, its own first, and which of them made the current lines.

    A turn's id tells when it began, and a thread's when it was made: a turn belongs to the
    youngest thread that was there already. The envelope's time tells nothing, as copying a line
    stamps it anew in most versions.
    """

    thread: str = ""
    parent: str | None = None
    made_at: int | None = None
    opened: int | None = None
    others: dict[str, int | None] = msgspec.field(default_factory=dict[str, int | None])
    owner: str = ""
    timed: bool = False
    """The current turn has said when it began."""
    dated: bool = False
    """Copied lines have kept their own times."""
    own_from: int = 0
    """The first ordinal that is this thread's own, in the paginated log of a sub-agent."""

    def open(self, thread: str, made_at: int | None, opened: int | None) -> None:
        """The file's own thread."""
        self.thread = self.owner = thread
        self.made_at = uuid_time(thread) or made_at
        self.opened = opened

    def add(self, thread: str, made_at: int | None) -> None:
        """A thread whose lines are copied here, from now on until a turn says otherwise."""
        self.others[thread] = uuid_time(thread) or made_at
        self.owner, self.timed = thread, False

    def turn(self, turn_id: str, started_at: int | None) -> None:
        """A turn begins; without a time of its own it says nothing about its thread."""
        began = uuid_time(turn_id)
        if began is None and started_at is not None:
            began = started_at + 999  # whole seconds, cut off
        if began is None or not self.others:
            return
        self.timed = True
        there = [
            (made, name)
            for name, made in [*self.others.items(), (self.thread, self.made_at)]
            if made is not None and made <= began
        ]
        if there:
            self.owner = max(there)[1]
        elif self.made_at is not None:  # older than every thread named here
            self.owner = next(iter(self.others))

    def inherited(self, at: int | None, ordinal: Json) -> bool:
        """True for a line that another thread made, or that stands before this one's own."""
        if type(ordinal) is int and ordinal < self.own_from:
            return True
        if self.owner != self.thread:
            self.dated = self.dated or self.keeps_time(at)
            if not self.timed and self._is_late(at):
                self.owner = self.thread
        return self.owner != self.thread

    def _is_late(self, at: int | None) -> bool:
        """True for a line too late to be one of the copies."""
        if at is None:
            return False
        if self.dated:
            return not self.keeps_time(at)
        return self.opened is not None and at > self.opened + BURST_MS

    def keeps_time(self, at: int | None) -> bool:
        """True if a copied line still has its first time, so that it is known by fingerprint."""
        return at is not None and self.made_at is not None and at < self.made_at


def uuid_time(name: str) -> int | None:
    """Milliseconds in a UUID of version 7; None for every other name."""
    if len(name) != 36 or name[14] != "7" or name[8] != "-" or name[13] != "-":
        return None
    try:
        return int(name[:8] + name[9:13], 16)
    except ValueError:
        return None
