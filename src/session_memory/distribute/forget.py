"""Forgotten patterns and projects leave the files that agents read, where those are ours."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from pathlib import Path

import msgspec

from session_memory.core.forget import Remains
from session_memory.distribute.apply import apply
from session_memory.distribute.files import Look
from session_memory.distribute.ledger import Entry, Place, distributing, read_ledger, write_ledger
from session_memory.distribute.undo import plan_taking_out


class Removal(msgspec.Struct, frozen=True):
    """Files that changed, and those that were left."""

    places: tuple[Place, ...] = ()
    remains: tuple[Remains, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The files that changed, by their paths."""
        return tuple(f"{place.root}/{place.path}" for place in self.places)


def forget_given(
    data: Path,
    patterns: Collection[str],
    owns: Callable[[str], bool],
    why_not: Callable[[str], str | None],
    now: int,
) -> Removal:
    """Take patterns out of every file, and everything out of forgotten projects.

    The ledger stops naming those projects, except where something of ours has to stay: without
    its entry nobody could take that out later.
    """
    if not read_ledger(data).entries:
        return Removal()
    names = frozenset(patterns)

    def choose(entry: Entry) -> frozenset[str]:
        chosen = frozenset(entry.patterns)
        return chosen if owns(entry.place.root) else chosen & names

    def problem(root: str) -> str | None:
        return why_not(root) if os.path.lexists(root) else None  # gone: nothing is left to take out

    with distributing(data) as ledger:
        plan = plan_taking_out(ledger, Look(), problem, choose)
        done = apply(data, plan, ledger, lambda: now)
        taken = {change.place for change in (*done.changed, *plan.unchanged)}
        after = read_ledger(data)
        kept = tuple(
            entry
            for entry in after.entries
            if not owns(entry.place.root) or (entry.patterns and entry.place not in taken)
        )
        if kept != after.entries:
            write_ledger(data, msgspec.structs.replace(after, entries=kept))
    left = (*plan.refused, *done.refused, *plan.left_alone)
    return Removal(
        tuple(change.place for change in done.changed),
        tuple(Remains(one.where, one.why) for one in left),
    )
