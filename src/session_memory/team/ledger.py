"""What was sent, as hashes: which items, in which version, and what the next push has to do.

The ledger is written before anything is sent, so a push that is cut off anywhere goes on with the
same items in the same versions. It holds no text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.core.sharing.hashes import manifest_digest
from session_memory.core.sharing.wire import Item
from session_memory.paths import private_dir
from session_memory.store.json_files import read_json_file
from session_memory.team.items import Draft
from session_memory.team.membership import folder

SENT = "sent.json"


class Entry(msgspec.Struct, frozen=True, array_like=True):
    """One item as it was last decided to be sent."""

    hash: str
    rank: int
    kind: str
    session: str | None
    confirmed: bool = False
    """The hub confirmed that it has the item."""


class ProjectLedger(msgspec.Struct):
    """Everything of one project."""

    entries: dict[str, Entry] = {}
    withdrawn: dict[str, int] = {}
    """Items to take back, by key, up to this rank; the hub does not know yet."""
    gone: dict[str, int] = {}
    """Items that were taken back: should they come again, it is with a higher rank."""
    stamps: dict[str, str] = {}
    """For each session whose items the hub has, a hash of what they were made of."""
    generation: int = 0
    """The generation of the sharing it was sent in: every change of level begins a new one."""

    def manifest(self, key: bytes) -> str:
        """All entries as one hash."""
        return manifest_digest(key, ((k, e.hash, e.rank) for k, e in self.entries.items()))

    @property
    def unconfirmed(self) -> set[str]:
        """Items that the hub may or may not have."""
        return {key for key, entry in self.entries.items() if not entry.confirmed}

    def confirm(self, keys: Iterable[str]) -> None:
        """Record that the hub has these."""
        for key in keys:
            if key in self.entries:
                self.entries[key] = msgspec.structs.replace(self.entries[key], confirmed=True)

    def doubt(self) -> None:
        """The hub does not have what it had: everything is asked about again."""
        self.stamps.clear()
        for key, entry in self.entries.items():
            self.entries[key] = msgspec.structs.replace(entry, confirmed=False)

    def forget_session(self, session: str) -> list[str]:
        """Drop a session that was forgotten; returns the keys of its items."""
        keys = [key for key, entry in self.entries.items() if entry.session == session]
        for key in keys:
            del self.entries[key]
        self.stamps.pop(session, None)
        return keys

    def decide(
        self, group: str | None, drafts: Iterable[Draft], keeps: Callable[[Entry], bool]
    ) -> list[Item]:
        """Take over what a session, or the project itself, has to share now.

        Returns the items that the hub may lack. What was sent of the group before and is not made
        any more is taken back, except what `keeps` says stays.
        """
        made = {draft.key: draft for draft in drafts}
        waiting: list[Item] = []
        for key, draft in sorted(made.items()):
            entry = self._next(draft)
            self.entries[key] = entry
            if not entry.confirmed:
                waiting.append(draft.ranked(entry.rank))
        for key, entry in list(self.entries.items()):
            if entry.session == group and key not in made and not keeps(entry):
                del self.entries[key]
                self.withdrawn[key] = self.gone[key] = entry.rank
        return waiting

    def _next(self, draft: Draft) -> Entry:
        before = self.entries.get(draft.key)
        if before is not None and before.hash == draft.hash:
            return before
        last = before.rank if before else self.gone.pop(draft.key, 0)
        rank = max(draft.natural_rank, last + 1)
        return Entry(draft.hash, rank, draft.kind, draft.session)


class Ledger(msgspec.Struct):
    """Every project, by the name the team has for it."""

    projects: dict[str, ProjectLedger] = {}

    def of(self, project: str) -> ProjectLedger:
        """The part of a project, made where there is none yet."""
        return self.projects.setdefault(project, ProjectLedger())


def read_ledger(data: Path) -> Ledger:
    """What was sent so far."""
    hint = "delete that file: the next push asks the hub what it has"
    return read_json_file(folder(data) / SENT, Ledger, hint) or Ledger()


def write_ledger(data: Path, ledger: Ledger) -> None:
    """Write the ledger; call it before anything is sent."""
    replace_file(private_dir(folder(data)) / SENT, msgspec.json.encode(ledger))
