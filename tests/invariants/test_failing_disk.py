"""The n-th operation on the disk fails, in every kind of work and every way a disk can fail."""

from __future__ import annotations

import random
from pathlib import Path

import apsw
import pytest
from tests.invariants.broken import Known, broken
from tests.invariants.flows import FLOWS, Flow, start_of
from tests.invariants.killing import damage
from tests.invariants.sizes import SIZES, record

from session_memory.errors import SessionMemoryError
from session_memory.testing.faults import KINDS, failing_disk, second_faults_pass
from session_memory.testing.workspace import Workspace

REPORTED = (SessionMemoryError, OSError, apsw.Error)
"""What the command line turns into a message and exit code 1."""


def operations(flow: Flow, space: Workspace, kind: str) -> int:
    """How many operations of a kind the undisturbed work takes."""
    start_of(flow, space)
    with failing_disk(kind, 0) as counter:
        flow.work(space)
    return counter.done


def one_fault(flow: Flow, space: Workspace, kind: str, nth: int) -> tuple[bool, bool]:
    """Work on a disk that fails once; whether it did, and whether somebody was told."""
    start_of(flow, space)
    told = False
    space.report = None
    with second_faults_pass(), failing_disk(kind, nth, stays=nth % 3 == 0) as counter:
        try:
            flow.work(space)
        except REPORTED:
            told = True
    if space.report is not None:
        told |= space.report.needs_attention
    return counter.failed, told


@pytest.mark.parametrize("name", FLOWS)
def test_a_failing_disk_is_reported_and_all_is_well_once_it_works_again(
    tmp_path: Path, name: str
) -> None:
    flow, chance = FLOWS[name], random.Random(SIZES.seed)
    first = Workspace(tmp_path, store="undisturbed")
    flow.prepare(first)
    kinds = [list(KINDS)[number % len(KINDS)] for number in range(SIZES.faults)]
    totals = {kind: operations(flow, first, kind) for kind in dict.fromkeys(kinds)}
    flow.finish(first)
    known = Known(first.dump(), flow.gone, first.log_hashes())
    failed = silent = 0
    found: list[str] = []
    for kind in kinds:
        if not totals[kind]:
            continue
        nth = chance.randint(1, totals[kind])
        space = first.with_store("faulty")
        happened, told = one_fault(flow, space, kind, nth)
        failed += happened
        silent += happened and not told
        place = f"{kind}, operation {nth} of {totals[kind]}"
        found += [f"{place}: {text}" for text in damage(space)]
        if happened and not told:  # then it must have been survived
            found += [f"{place}: silent, and {text}" for text in silently_lost(flow, space, known)]
        flow.work(space)
        flow.finish(space)
        found += [f"{place}: {text}" for text in broken(space, known)]
    record(
        f"disk faults, {name}",
        faults=failed,
        survived_without_a_word=silent,
        problems=len(found),
        seed=SIZES.seed,
    )
    assert found == []
    assert failed


def silently_lost(flow: Flow, space: Workspace, known: Known) -> list[str]:
    """What is wrong although nothing was said; files without a row are swept up later."""
    if flow is FLOWS["migrate"] or flow is FLOWS["create"]:
        return []
    found = broken(space, known) if not flow.gone else []
    return [text for text in found if "orphan" not in text]
