"""What is being forgotten, by every name it goes by outside the store. Pure."""

from __future__ import annotations

import os

import msgspec

FORGOTTEN = "[FORGOTTEN]"
"""Stands where a word was that had to go."""


class Remains(msgspec.Struct, frozen=True):
    """A place that may still hold what was forgotten, and why it was not touched."""

    where: str
    why: str


class Gone(msgspec.Struct, frozen=True):
    """Sessions that are forgotten, and what is forgotten along with them."""

    sessions: frozenset[tuple[str, str]] = frozenset()
    """By flavour and id of their own."""
    staying: frozenset[str] = frozenset()
    """`flavour:id` of every other session of the store."""
    spoken: frozenset[str] = frozenset()
    """Patterns that signals of other sessions speak for."""
    keys: frozenset[str] = frozenset()
    """Projects of which no session is left."""
    roots: frozenset[str] = frozenset()
    """Their directories."""
    other_roots: frozenset[str] = frozenset()
    """Directories of all other projects."""
    packs: tuple[str, ...] = ()
    """Files into which the pack of a project was written that loses a session."""
    logs: tuple[str, ...] = ()
    """The agents' own logs of the sessions."""

    @property
    def names(self) -> frozenset[str]:
        """The sessions as their agents name them."""
        return frozenset(name for _, name in self.sessions)

    @property
    def full_names(self) -> frozenset[str]:
        """The sessions as `flavour:id`."""
        return frozenset(f"{flavor}:{name}" for flavor, name in self.sessions)

    def owns(self, path: str | None) -> bool:
        """Whether a path lies in a forgotten project, and not in another one inside of it."""
        if path is None:
            return False
        return _depth(path, self.roots) > _depth(path, self.other_roots)

    def speaks_no_more(self, pattern: str, witnesses: tuple[str, ...]) -> bool:
        """Whether nobody is left who says what a pattern says.

        A witness that this store has never seen comes from another machine and still counts.
        """
        known = self.staying | self.full_names
        return pattern not in self.spoken and all(name in known for name in witnesses)


def _depth(path: str, roots: frozenset[str]) -> int:
    """The length of the longest of the directories that a path lies in; -1 for none."""
    inside = [
        root for root in roots if path == root or path.startswith(root.rstrip("/\\") + os.sep)
    ]
    return max(map(len, inside), default=-1)
