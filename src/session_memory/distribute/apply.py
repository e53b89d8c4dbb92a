"""Carrying a plan out: each file in one step, the ledger before it, the audit beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from session_memory import audit
from session_memory.distribute import files
from session_memory.distribute.block import VERSION
from session_memory.distribute.draft import Change, Plan, Refusal
from session_memory.distribute.ledger import Entry, Ledger, Place, write_ledger
from session_memory.distribute.ownership import sort_blocks
from session_memory.errors import Refused

BY = "distribute"


class Done(msgspec.Struct, frozen=True):
    """What was carried out, and what could not be."""

    changed: tuple[Change, ...] = ()
    refused: tuple[Refusal, ...] = ()


def apply(data: Path, plan: Plan, ledger: Ledger, clock: Callable[[], int]) -> Done:
    """Write what the plan says, while the caller holds the ledger's lock.

    The ledger names every file before the first of them is written: whatever a crash leaves in a
    file can be taken out again, and the next run ends where this one would have.
    """
    now = clock()
    entries = {change.place: _entry(change, ledger, now) for change in _all(plan)}
    before = ledger.with_entries(entries.values())
    if plan.changes or before != ledger:
        write_ledger(data, before)  # with the key: a block whose key is lost is nobody's
    changed: list[Change] = []
    refused: list[Refusal] = []
    for change in _all(plan):  # what a run that was killed left behind
        files.sweep_left_overs(change.place.root, change.real)
        if change.before is None and change.after is None:
            files.remove_folders(change.place.root, entries[change.place].folders)
    for change in plan.changes:
        try:
            _carry_out(data, change, entries[change.place], now)
        except (OSError, Refused) as error:
            why = error.message if isinstance(error, Refused) else f"it cannot be written: {error}"
            refused.append(Refusal(f"{change.place.root}/{change.place.path}", why))
            continue
        changed.append(change)
    after = _settled(plan, ledger, entries, tuple(changed))
    if after != before:
        write_ledger(data, after)
    return Done(tuple(changed), tuple(refused))


def _all(plan: Plan) -> tuple[Change, ...]:
    return (*plan.changes, *plan.unchanged)


def _entry(change: Change, ledger: Ledger, now: int) -> Entry:
    """What the ledger says of a file while it is written: all that it may hold then."""
    known = ledger.by_place().get(change.place)
    created = change.before is None or (
        known is not None and known.created and not _is_users(change, ledger, known)
    )
    kept = known.replaced if known else ()
    if change.edited is not None:
        kept = (*kept, change.edited.decode("utf-8", "replace"))
    patterns = dict.fromkeys((*change.patterns, *(known.patterns if known else ())))
    at = known.at if known and change.before == change.after else now
    made = files.missing_folders(change.place.root, change.real) if change.after else ()
    folders = tuple(dict.fromkeys((*(known.folders if known else ()), *made)))
    marker = known.marker if known else VERSION
    return Entry(
        *(change.place, change.repo, change.kind, tuple(patterns), at),
        *(created, folders, kept, marker),
    )


def _is_users(change: Change, ledger: Ledger, known: Entry) -> bool:
    """Whether somebody else made the file since: it holds no block of ours."""
    return change.kind == "block" and sort_blocks(change.before, ledger.seal, known).ours is None


def _carry_out(data: Path, change: Change, entry: Entry, now: int) -> None:
    root, real = change.place.root, change.real
    hashes = audit.sha256(change.before), audit.sha256(change.after)
    # Before the write: a line too many tells of an attempt, a line too few would hide a write.
    audit.append(data, audit.Written(now, BY, real, change.why, *hashes))
    if change.after is None:
        files.remove(root, real, change.before, entry.folders)
    else:
        files.put(root, real, change.before, change.after)


def _settled(
    plan: Plan, ledger: Ledger, entries: dict[Place, Entry], changed: tuple[Change, ...]
) -> Ledger:
    """The ledger after the run: what each file holds now, without those that hold nothing."""
    kept: list[Entry] = []
    gone: list[Place] = []
    done = {change.place for change in (*changed, *plan.unchanged)}
    for change in _all(plan):
        entry = entries[change.place]
        if change.place in done:
            entry = replace(entry, patterns=change.patterns, marker=_marker(change, entry))
        if entry.patterns or entry.replaced:
            kept.append(entry)
        else:
            gone.append(change.place)
    return ledger.with_entries(kept, gone)


def _marker(change: Change, entry: Entry) -> int:
    """The version of the marker in the file now: what was written just now has the latest."""
    return entry.marker if change.before == change.after else VERSION
