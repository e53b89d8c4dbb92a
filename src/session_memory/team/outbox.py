"""What has to be taken back from the hub: hashes and names of projects, never a text.

It is written when something is forgotten or unshared, in a file of its own, and emptied only when
the hub has said that it is done. So it survives a lost network, a lost database and a kill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.paths import private_dir
from session_memory.store.json_files import read_json_file
from session_memory.store.lock import exclusive
from session_memory.team.membership import folder

OUTBOX = "outbox.json"
LOCK = "outbox.lock"


class Outbox(msgspec.Struct, frozen=True):
    """Waits for the next push."""

    forgotten: dict[str, tuple[str, ...]] = {}
    """Project to session keys that were forgotten."""
    unshared: tuple[str, ...] = ()
    """Projects of which everything is taken back."""

    def __bool__(self) -> bool:
        return bool(self.forgotten or self.unshared)

    def sessions(self, project: str) -> frozenset[str]:
        """Sessions of a project that must not leave any more."""
        return frozenset(self.forgotten.get(project, ()))

    def with_forgotten(self, project: str, sessions: Iterable[str]) -> Outbox:
        """The same with more sessions to take back."""
        all_of_them = sorted({*self.forgotten.get(project, ()), *sessions})
        forgotten = {**self.forgotten, project: tuple(all_of_them)}
        return Outbox({p: keys for p, keys in sorted(forgotten.items()) if keys}, self.unshared)

    def with_unshared(self, project: str) -> Outbox:
        """The same with a project to take back."""
        return Outbox(self.forgotten, tuple(sorted({*self.unshared, project})))

    def without(self, done: Outbox) -> Outbox:
        """What is left when the hub has done this."""
        forgotten = {
            project: left
            for project, keys in self.forgotten.items()
            if (left := tuple(k for k in keys if k not in done.sessions(project)))
        }
        return Outbox(forgotten, tuple(p for p in self.unshared if p not in done.unshared))


def read_outbox(data: Path) -> Outbox:
    """What waits; a file that cannot be read stops a push, as it may say what must not leave."""
    hint = "`session-memory team unshare` everything once the file is repaired or deleted"
    return read_json_file(folder(data) / OUTBOX, Outbox, hint) or Outbox()


def change_outbox(data: Path, change: Callable[[Outbox], Outbox]) -> Outbox:
    """Change it; another process may do so at the same time."""
    directory = private_dir(folder(data))
    with exclusive(str(directory / LOCK), "a change of the outbox", wait=True):
        after = change(read_outbox(data))
        replace_file(directory / OUTBOX, msgspec.json.encode(after))
    return after
