"""Carrying a plan out: the ledger first, then each file in one step, with backup and audit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec.structs import replace

from session_memory import audit
from session_memory.errors import Refused
from session_memory.install import files
from session_memory.install.ledger import Entry, Ledger, write_ledger
from session_memory.install.plan import FileChange, Plan, Problem


class InstallResult(msgspec.Struct, frozen=True):
    """What was carried out, and what could not be."""

    changed: tuple[FileChange, ...] = ()
    problems: tuple[Problem, ...] = ()


def apply_init(data: Path, plan: Plan, ledger: Ledger, clock: Callable[[], int]) -> InstallResult:
    """Write what the plan says, while the caller holds the ledger's lock.

    The ledger names every file before the first of them is written: whatever a crash leaves can be
    taken out again, and the next run ends where this one would have.
    """
    now = clock()
    entries = [_entry(change, ledger, now) for change in plan.changes]
    lost = [_entry(c, ledger, now) for c in plan.unchanged if ledger.of(c.path) is None]
    ledger = ledger.with_entries(lost)
    write_ledger(data, ledger.with_entries(entries))
    changed: list[FileChange] = []
    problems: list[Problem] = []
    for change in plan.unchanged:
        files.sweep_left_overs(change.real)
    for change, entry in zip(plan.changes, entries, strict=True):
        try:
            files.sweep_left_overs(change.real)
            if entry.backup and change.before is not None:
                files.back_up(change.real, change.before)
            _note(data, change, "init", now)
            files.put(change.real, change.before, change.after or b"")
        except (OSError, Refused) as error:
            problems.append(_problem(change, error))
            if files.read_file(change.real).data != change.after:
                continue
        changed.append(change)
    done = {change.path for change in changed}
    written_entries = [
        entry for entry in entries if entry.path in done or not _leaves(entry, ledger)
    ]
    write_ledger(data, ledger.with_entries(written_entries))
    return InstallResult(tuple(changed), tuple(problems))


def _leaves(entry: Entry, ledger: Ledger) -> bool:
    """Tidy up after a file that could not be written; whether nothing of ours is left there."""
    if ledger.of(entry.path) is not None:
        return True  # the earlier entry of the ledger still holds
    try:
        files.remove_backup(entry.backup)
    except OSError:
        return False
    files.remove_empty(entry.folders)
    return True


def apply_uninstall(
    data: Path, plan: Plan, ledger: Ledger, clock: Callable[[], int]
) -> InstallResult:
    """Take out what the plan says; a file that cannot be changed stays in the ledger."""
    now = clock()
    changed: list[FileChange] = []
    problems: list[Problem] = list(plan.problems)
    removed: list[str] = []
    for change in (*plan.changes, *plan.unchanged):
        entry = ledger.of(change.path)
        try:
            files.sweep_left_overs(change.real)
            if change.before != change.after:
                _note(data, change, "uninstall", now)
                if change.after is None:
                    files.remove(change.real, change.before)
                else:
                    files.put(change.real, change.before, change.after)
                changed.append(change)
            if entry is not None:
                files.remove_backup(entry.backup)
                files.remove_empty(entry.folders)
                removed.append(change.path)
            elif change.before != change.after:  # the ledger was lost
                files.remove_backup(change.real + files.BACKUP)
        except (OSError, Refused) as error:
            problems.append(_problem(change, error))
    write_ledger(data, ledger.with_entries((), removed))
    return InstallResult(tuple(changed), tuple(problems))


def _entry(change: FileChange, ledger: Ledger, now: int) -> Entry:
    """What the ledger says of a file while it is written."""
    earlier = ledger.of(change.path)
    made = files.missing_folders(change.real)
    backup = change.real + files.BACKUP if change.before is not None else None
    if earlier is None:
        return Entry(
            *(change.path, change.agent, now, change.created, made, backup),
            layout=change.layout,
            project=change.project,
        )
    folders = tuple(dict.fromkeys((*earlier.folders, *made)))
    created = earlier.created or change.before is None
    return replace(
        earlier, at=now, created=created, folders=folders, backup=backup, layout=change.layout
    )


def _note(data: Path, change: FileChange, by: str, now: int) -> None:
    hashes = audit.sha256(change.before), audit.sha256(change.after)
    # Before the write: an extra line shows an attempt, a missing line would hide a write.
    audit.append(data, audit.Written(now, by, change.real, change.why, *hashes))


def _problem(change: FileChange, error: OSError | Refused) -> Problem:
    if isinstance(error, Refused):
        return Problem(change.path, change.agent, error.message, error.hint)
    message = f"it cannot be written: {error.strerror or error}"
    return Problem(change.path, change.agent, message, "fix that, then run the command again")
