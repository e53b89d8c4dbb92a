"""What is being forgotten, by every name it has outside the store. Pure."""

from __future__ import annotations

import os

import msgspec

FORGOTTEN = "[FORGOTTEN]"
"""Replaces words that had to go."""


class Remains(msgspec.Struct, frozen=True):
    """A place that may still hold what was forgotten, and why it was not touched."""

    where: str
    why: str


class ForgottenSessions(msgspec.Struct, frozen=True):
    """Sessions that are forgotten, and what is forgotten along with them."""

    sessions: frozenset[tuple[str, str]] = frozenset()
    """By flavour and id of their own."""
    remaining: frozenset[str] = frozenset()
    """`flavour:id` of every other session of the store."""
    patterns_of_others: frozenset[str] = frozenset()
    """Patterns with signals in other sessions."""
    project_keys: frozenset[str] = frozenset()
    """Projects of which no session is left."""
    roots: frozenset[str] = frozenset()
    """Their directories."""
    other_roots: frozenset[str] = frozenset()
    """Directories of all other projects."""
    pack_files: tuple[str, ...] = ()
    """Files with the pack of a project that loses a session."""
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

    def leaves_no_evidence(self, pattern: str, sessions: tuple[str, ...]) -> bool:
        """Whether no session is left that shows a pattern.

        A session that this store has never seen comes from another machine and still counts.
        """
        in_this_store = self.remaining | self.full_names
        return pattern not in self.patterns_of_others and all(
            name in in_this_store for name in sessions
        )


def _depth(path: str, roots: frozenset[str]) -> int:
    """The length of the longest of the directories that a path lies in; -1 for none."""
    inside = [
        root for root in roots if path == root or path.startswith(root.rstrip("/\\") + os.sep)
    ]
    return max(map(len, inside), default=-1)
