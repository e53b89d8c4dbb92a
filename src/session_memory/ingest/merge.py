"""Which events of a read are new to their session, by content and not by file name."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from session_memory.core.fingerprint import repeated
from session_memory.store.port import EventDraft, Holder

Lookup = Callable[[list[int]], dict[int, list[Holder]]]


class Reading(msgspec.Struct):
    """One pass over one source: what was seen so far, to number equal events."""

    source_id: int
    key: bytes
    """The store's fingerprint key."""
    offset: int
    """Where the pass began; above 0 it continues an earlier one."""
    writes_again: bool = False
    """See `Adapter`."""
    counts: dict[tuple[int, int], int] = {}
    timed: set[tuple[int, int]] = set()
    """Of an agent that writes records again: the events with a time, by session."""
    seen: set[int] = set()


class Placement(msgspec.Struct):
    """Where a part's events go."""

    new: list[EventDraft]
    held: list[tuple[int, EventDraft]]
    """Events the session holds already, as this read gives them."""
    shared: set[int]
    """Fingerprints that another session holds too."""
    forgotten: int = 0
    """Events the user forgot: they stay out."""


def place(
    session_id: int,
    drafts: list[EventDraft],
    reading: Reading,
    lookup: Lookup,
    evicted_to: int = 0,
) -> Placement:
    """Sort a part's events into new and known ones.

    Equal events of one file (same kind, time and content) are told apart by their number, so that
    a second file with the same events numbers them alike and adds nothing. A read that continues
    behind `reading.offset` first finds out how many equal ones came before it. Where an agent
    writes records again, what has a time is there once, at its first place.
    """
    bases = [draft.fingerprint for draft in drafts]
    held = lookup(bases)
    if reading.writes_again:
        drafts = [draft for draft in drafts if not _is_repeated(session_id, draft, reading, held)]
    numbered: list[int] = []
    for draft in drafts:
        base = draft.fingerprint
        number = reading.counts.get((session_id, base))
        if number is None:
            number = _earlier(session_id, base, reading, held, lookup) if reading.offset else 0
        reading.counts[session_id, base] = number + 1
        if number:
            draft.fingerprint = repeated(reading.key, base, number)
            numbered.append(draft.fingerprint)
    if numbered:
        held = {**held, **lookup(numbered)}
    return _sort(session_id, drafts, reading, held, evicted_to)


def _is_repeated(
    session_id: int, draft: EventDraft, reading: Reading, held: dict[int, list[Holder]]
) -> bool:
    if draft.at is None:
        return False
    name = (session_id, draft.fingerprint)
    if name in reading.timed:
        return True
    reading.timed.add(name)
    return reading.offset > 0 and any(
        _is_earlier(holder, session_id, reading) for holder in held.get(draft.fingerprint, ())
    )


def _earlier(
    session_id: int,
    base: int,
    reading: Reading,
    held: dict[int, list[Holder]],
    lookup: Lookup,
) -> int:
    """How many equal events this source gave before the offset."""
    number = 0
    holders = held.get(base, [])
    while any(_is_earlier(holder, session_id, reading) for holder in holders):
        number += 1
        fingerprint = repeated(reading.key, base, number)
        holders = lookup([fingerprint]).get(fingerprint, [])
    return number


def _is_earlier(holder: Holder, session_id: int, reading: Reading) -> bool:
    if holder.session_id != session_id:
        return False
    if holder.pos is None:  # evicted: only what was read before can have been evicted
        return True
    return holder.source_id == reading.source_id and holder.pos < reading.offset


def _sort(
    session_id: int,
    drafts: list[EventDraft],
    reading: Reading,
    held: dict[int, list[Holder]],
    evicted_to: int,
) -> Placement:
    placement = Placement([], [], set())
    for draft in drafts:
        if draft.forgotten:
            placement.forgotten += 1
            continue
        holders = held.get(draft.fingerprint)
        if not holders:
            if draft.pos >= evicted_to:
                placement.new.append(draft)
            continue
        if holders[0].forgotten:
            placement.forgotten += 1
            continue
        own = False
        for holder in holders:
            if holder.session_id != session_id:
                placement.shared.add(draft.fingerprint)
                continue
            own = own or not holder.lost
            if holder.event_id is not None:
                placement.held.append((holder.event_id, draft))
                reading.seen.add(holder.event_id)
        if not own and draft.pos >= evicted_to:
            placement.new.append(draft)
    return placement
