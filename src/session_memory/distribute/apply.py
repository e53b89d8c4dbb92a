"""Carries out a plan: the ledger first, then an audit line and the write for each file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from session_memory import audit
from session_memory.distribute import files
from session_memory.distribute.block import VERSION
from session_memory.distribute.ledger import (
    Entry,
    Ledger,
    TargetFile,
    distributing,
    read_ledger,
    write_ledger,
)
from session_memory.distribute.ownership import sort_blocks
from session_memory.distribute.plan_builder import Change, Plan, Refusal
from session_memory.errors import Refused
from session_memory.store.given_files import note_given

BY = "distribute"


class ApplyResult(msgspec.Struct, frozen=True):
    """The changes that were made, and those that could not be."""

    changed: tuple[Change, ...] = ()
    refused: tuple[Refusal, ...] = ()


def distribute(
    data: Path,
    make_plan: Callable[[Ledger], Plan],
    versions: Callable[[], Mapping[str, int]],
    clock: Callable[[], int],
) -> tuple[Plan, ApplyResult]:
    """Plan and carry out under a lock, and record what was given since when.

    `versions` are the current versions of patterns. It is called only when something is given: a
    catalog that cannot be read must not stop an undo.
    """
    with distributing(data) as ledger:
        plan = make_plan(ledger)
        result = apply(data, plan, ledger, clock)
        written = (*result.changed, *plan.unchanged)
        giving = [change for change in written if change.why.startswith("gives ")]
        current_versions: Mapping[str, int] = versions() if giving else {}
        given_versions = {
            (name, change.repo): current_versions[name]
            for change in giving
            for name in change.patterns
            if name in current_versions
        }
        entries = read_ledger(data).entries
        standing = [(name, entry.repo) for entry in entries for name in entry.patterns]
        note_given(data, standing, given_versions, clock())
    return plan, result


def apply(data: Path, plan: Plan, ledger: Ledger, clock: Callable[[], int]) -> ApplyResult:
    """Write what the plan says, while the caller holds the ledger's lock.

    The ledger names every file before the first of them is written: whatever a crash leaves in a
    file can be removed again, and the next run finishes what this one began.
    """
    now = clock()
    entries = {change.place: _entry(change, ledger, now) for change in _all(plan)}
    before = ledger.with_entries(entries.values())
    if plan.changes or before != ledger:
        write_ledger(data, before)  # with the key: without it, a block would not be known as ours
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
            refused.append(Refusal(change.place.full_path, why))
            continue
        changed.append(change)
    after = _settled(plan, ledger, entries, tuple(changed))
    if after != before:
        write_ledger(data, after)
    return ApplyResult(tuple(changed), tuple(refused))


def _all(plan: Plan) -> tuple[Change, ...]:
    return (*plan.changes, *plan.unchanged)


def _entry(change: Change, ledger: Ledger, now: int) -> Entry:
    """The ledger's entry while a file is written: everything the file may hold then."""
    earlier = ledger.by_file().get(change.place)
    created = change.before is None or (
        earlier is not None and earlier.created and not _is_users(change, ledger, earlier)
    )
    replaced = earlier.replaced if earlier else ()
    if change.edited is not None:
        replaced = (*replaced, change.edited.decode("utf-8", "replace"))
    made = files.missing_folders(change.place.root, change.real) if change.after else ()
    return Entry(
        place=change.place,
        repo=change.repo,
        kind=change.kind,
        patterns=_joined(change.patterns, earlier.patterns if earlier else ()),
        at=earlier.at if earlier and change.before == change.after else now,
        created=created,
        folders=_joined(earlier.folders if earlier else (), made),
        replaced=replaced,
        marker=earlier.marker if earlier else VERSION,
    )


def _joined(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _is_users(change: Change, ledger: Ledger, entry: Entry) -> bool:
    """Whether the file was created again since: it holds no block of ours."""
    return change.kind == "block" and sort_blocks(change.before, ledger.seal, entry).ours is None


def _carry_out(data: Path, change: Change, entry: Entry, now: int) -> None:
    root, real = change.place.root, change.real
    hashes = audit.sha256(change.before), audit.sha256(change.after)
    # Before the write: a line too many records an attempt, a line too few would hide a write.
    audit.append(data, audit.Written(now, BY, real, change.why, *hashes))
    if change.after is None:
        files.remove(root, real, change.before, entry.folders)
    else:
        files.put(root, real, change.before, change.after)


def _settled(
    plan: Plan, ledger: Ledger, entries: dict[TargetFile, Entry], changed: tuple[Change, ...]
) -> Ledger:
    """The ledger after the run: what each file holds now, without those that hold nothing."""
    remaining: list[Entry] = []
    empty: list[TargetFile] = []
    done = {change.place for change in (*changed, *plan.unchanged)}
    for change in _all(plan):
        entry = entries[change.place]
        if change.place in done:
            entry = replace(entry, patterns=change.patterns, marker=_marker(change, entry))
        if entry.patterns or entry.replaced:
            remaining.append(entry)
        else:
            empty.append(change.place)
    return ledger.with_entries(remaining, empty)


def _marker(change: Change, entry: Entry) -> int:
    """The version of the marker in the file now: what was written just now has the latest."""
    return entry.marker if change.before == change.after else VERSION
