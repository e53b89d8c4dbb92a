"""The user's decisions on guards and their history on disk: a small file next to the trials."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.core.loop.guards import Choice, GuardRecord
from session_memory.paths import private_dir
from session_memory.store.json_files import REPAIR, read_json_file
from session_memory.store.lock import exclusive

GUARDS = "guards.json"
Change = Callable[[GuardRecord], GuardRecord]


def read_guards(data: Path) -> GuardRecord:
    """All decisions and the history; nothing where there is no file.

    A file that cannot be read is an error: a guard that the user switched off must stay off.
    """
    return read_json_file(data / GUARDS, GuardRecord, REPAIR) or GuardRecord()


def change_guards(data: Path, change: Change) -> GuardRecord:
    """Apply a change under a lock; returns the record after it."""
    with exclusive(str(data / "guards.lock"), "another change of guards", wait=True):
        before = read_guards(data)
        after = change(before)
        if after != before:
            replace_file(private_dir(data) / GUARDS, msgspec.json.encode(after))
    return after


def drop_guards(
    data: Path, is_gone: Callable[[Choice], bool], repos: Collection[str] | None
) -> None:
    """Drop decisions that hold forgotten words, and the history of projects that are not known."""
    if not (data / GUARDS).exists():
        return

    def drop(record: GuardRecord) -> GuardRecord:
        return GuardRecord(
            tuple(choice for choice in record.choices if not is_gone(choice)),
            tuple(giving for giving in record.given if repos is None or giving.repo in repos),
        )

    change_guards(data, drop)
