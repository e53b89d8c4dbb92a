"""What export and import need of a store: where everything came from, and how to take it in."""

from __future__ import annotations

from typing import Protocol

import msgspec

from session_memory.core.facts import Fact
from session_memory.core.fingerprint import usage_fingerprint
from session_memory.core.schema import Digest
from session_memory.store.values import UsageDraft

_CHECK_BITS = 20


def imported_key(key: bytes, name: str) -> int:
    """The number of something whose native number this store cannot know; see `is_imported`."""
    number = usage_fingerprint(key, "imported", name) >> _CHECK_BITS
    return (number << _CHECK_BITS) | _check(key, number)


def is_imported(key: bytes, number: int) -> bool:
    """Whether `imported_key` made a number; of all others one in a million looks so too."""
    upper, check = number >> _CHECK_BITS, number & ((1 << _CHECK_BITS) - 1)
    return _check(key, upper) == check


def _check(key: bytes, number: int) -> int:
    return usage_fingerprint(key, "check", str(number)) & ((1 << _CHECK_BITS) - 1)


class Note(msgspec.Struct, frozen=True):
    """A fact of a session that a hook recorded."""

    name: str
    value: str
    at: int


class Origins(msgspec.Struct, frozen=True):
    """Where everything known of a session came from."""

    paths: dict[int, str]
    """Source id to the path of the log."""
    facts: tuple[tuple[int, Fact], ...]
    """(source id, what it states)."""
    notes: tuple[Note, ...]
    usages: tuple[UsageDraft, ...]
    responses: dict[int, int]
    """Event id to the key of the response it belongs to."""
    lasting: frozenset[str]
    """Hashes of the observations that stay although what they were read from has gone."""


class Gone(msgspec.Struct, frozen=True):
    """What is left of the evicted part of a session."""

    events: int
    """How many events it had."""
    whole: bool
    """Whether no event of the session is left."""
    digest: Digest | None
    """The digest of that part, where later events must be added to it."""
    lasting: tuple[str, ...]
    """Hashes of the observations that were made of it."""


class Exchange(Protocol):
    """What only a move of sessions into another store needs."""

    def find(self, flavor: str, external_id: str) -> int | None:
        """Our number of the session of exactly that name."""
        ...

    def origins(self, session_id: int) -> Origins:
        """Where everything known of a session came from."""
        ...

    def forgotten(self) -> frozenset[int]:
        """Fingerprints of all single events that the user forgot."""
        ...

    def is_blank(self) -> bool:
        """Whether nothing was ever captured or forgotten here."""
        ...

    def adopt(self, fingerprint_key: bytes) -> None:
        """Know events by another store's fingerprints from the next opening on.

        Only for a blank store: every number in it was made with the old key.
        """
        ...

    def expect_twins(self) -> None:
        """Inside a `writing()` block: events will come in under fingerprints made up by an import.

        From then on such an event is dropped when a log brings the same one.
        """
        ...

    def add_notes(self, flavor: str, external_id: str, notes: tuple[Note, ...]) -> None:
        """Inside a `writing()` block: hooks' facts from elsewhere, unless a newer one is known."""
        ...

    def restore_gone(self, session_id: int, gone: Gone) -> None:
        """Inside a `writing()` block: count evicted events and keep what was made of them."""
        ...
