"""Removing forgotten patterns and projects from files that agents read."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path

import msgspec

from session_memory.core.forget import Remains
from session_memory.distribute.apply import apply
from session_memory.distribute.files import FileReader
from session_memory.distribute.ledger import (
    Entry,
    TargetFile,
    distributing,
    read_ledger,
    write_ledger,
)
from session_memory.distribute.undo import plan_removal


class Removal(msgspec.Struct, frozen=True):
    """Files that changed, and those that were left."""

    places: tuple[TargetFile, ...] = ()
    remains: tuple[Remains, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The files that changed, by their paths."""
        return tuple(file.full_path for file in self.places)


def forget_given(
    data: Path,
    patterns: Collection[str],
    owns: Callable[[str], bool],
    why_not: Callable[[str], str | None],
    now: int,
) -> Removal:
    """Remove patterns from every file, and everything from forgotten projects.

    The ledger drops the entries of those projects, except where something of ours has to stay:
    without its entry it could not be removed later.
    """
    if not read_ledger(data).entries:
        return Removal()
    names = frozenset(patterns)

    def choose(entry: Entry) -> frozenset[str]:
        chosen = frozenset(entry.patterns)
        return chosen if owns(entry.place.root) else chosen & names

    def problem(root: str) -> str | None:
        return why_not(root) if os.path.lexists(root) else None  # gone: nothing is left to remove

    with distributing(data) as ledger:
        plan = plan_removal(ledger, FileReader(), problem, choose)
        result = apply(data, plan, ledger, lambda: now)
        cleaned = {change.place for change in (*result.changed, *plan.unchanged)}
        after = read_ledger(data)
        entries = tuple(
            entry
            for entry in after.entries
            if not owns(entry.place.root) or (entry.patterns and entry.place not in cleaned)
        )
        if entries != after.entries:
            write_ledger(data, msgspec.structs.replace(after, entries=entries))
    left = (*plan.refused, *result.refused, *plan.left_alone)
    return Removal(
        tuple(change.place for change in result.changed),
        tuple(Remains(refusal.where, refusal.why) for refusal in left),
    )
