"""The ledger: what was written into which file, so that it can be changed, listed and removed.

No copy of a user's file is kept: the markers are enough to remove a block exactly. The only text in
here that is not ours are edits of a block that the user chose to overwrite. The key makes the seals
of our blocks: without this file, nothing that was written can be recognised as ours.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.core.text.seal import Seal
from session_memory.errors import Refused
from session_memory.paths import private_dir
from session_memory.store.lock import exclusive

FILE = "distribution.json"


class TargetFile(msgspec.Struct, frozen=True):
    """A file of a repository that agents read."""

    root: str
    path: str
    """Below the root."""

    @property
    def full_path(self) -> str:
        """Root and path together."""
        return f"{self.root}/{self.path}"


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """What we have in one file."""

    place: TargetFile
    repo: str
    kind: Literal["block", "skill"]
    patterns: tuple[str, ...]
    at: int
    created: bool = False
    """Whether we created the file: then it goes with our last line in it."""
    folders: tuple[str, ...] = ()
    """Directories made for it, outermost first."""
    replaced: tuple[str, ...] = ()
    """Edits of our block that were overwritten on request."""
    marker: int = 1
    """The version of the marker in the file."""


class Ledger(msgspec.Struct, frozen=True):
    """Every file that holds something of ours."""

    entries: tuple[Entry, ...] = ()
    version: int = 1
    key: str = ""
    """Of the seals, as hex digits; kept from the first write on."""

    @property
    def seal(self) -> Seal:
        """Seals what we write, so that it can be recognised."""
        return Seal(bytes.fromhex(self.key))

    def with_key(self) -> Ledger:
        """The ledger with a key, a new one where it has none."""
        return self if self.key else msgspec.structs.replace(self, key=secrets.token_hex(32))

    def by_file(self) -> dict[TargetFile, Entry]:
        """The entries by the file they are about."""
        return {entry.place: entry for entry in self.entries}

    def with_entries(self, changed: Iterable[Entry], removed: Iterable[TargetFile] = ()) -> Ledger:
        """The ledger with these entries added or replaced, and others removed."""
        by_file = {**self.by_file(), **{entry.place: entry for entry in changed}}
        for file in removed:
            by_file.pop(file, None)
        order = sorted(by_file.values(), key=lambda entry: (entry.place.root, entry.place.path))
        return msgspec.structs.replace(self, entries=tuple(order))

    def given_in(self, root: str) -> frozenset[str]:
        """Patterns that files of a repository give."""
        return frozenset(
            pattern
            for entry in self.entries
            if entry.place.root == root
            for pattern in entry.patterns
        )


def read_ledger(data: Path) -> Ledger:
    """The ledger; raises Refused where it cannot be read, so that nothing is written."""
    try:
        ledger = msgspec.json.decode((data / FILE).read_bytes(), type=Ledger)
        _ = ledger.seal
        return ledger.with_key()
    except FileNotFoundError:
        return Ledger().with_key()
    except (OSError, ValueError, RecursionError) as error:
        hint = "put a copy of it back; without it, blocks that were written are left alone"
        raise Refused(f"cannot read {data / FILE}: {error}", hint=hint) from None


def write_ledger(data: Path, ledger: Ledger) -> None:
    """Write the ledger."""
    replace_file(private_dir(data) / FILE, msgspec.json.encode(ledger))


@contextmanager
def distributing(data: Path) -> Generator[Ledger]:
    """The ledger under a lock."""
    private_dir(data)
    with exclusive(str(data / "distribution.lock"), "another distribute", wait=True):
        yield read_ledger(data)


def rewrite_words(data: Path, words: Callable[[str], str]) -> bool:
    """Rewrite the edits that are kept here; returns whether any changed."""
    if not (data / FILE).exists():
        return False
    with distributing(data) as ledger:
        changed = tuple(
            msgspec.structs.replace(entry, replaced=tuple(map(words, entry.replaced)))
            for entry in ledger.entries
        )
        if changed == ledger.entries:
            return False
        write_ledger(data, msgspec.structs.replace(ledger, entries=changed))
    return True
