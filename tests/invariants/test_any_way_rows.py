"""Sessions that are rows or many small files, met in any state and order, give one store."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.adapters.opencode_reading import PLACES
from tests.invariants.broken import broken, difference
from tests.invariants.families import opencode
from tests.invariants.sizes import SIZES
from tests.invariants.test_any_way_in import Dump, die_somewhere

from session_memory.adapters.opencode import files as opencode_files
from session_memory.adapters.opencode.log_builder import OpenCodeLog
from session_memory.testing.workspace import Workspace


def states(logs: list[OpenCodeLog], chance: random.Random) -> Iterator[OpenCodeLog]:
    """Every session as it grew, with those of the others in between, each whole at the end."""
    waiting: list[list[OpenCodeLog]] = []
    for log in logs:
        parts = sum(len(held) for _, held in log.messages)
        counts = sorted(chance.randint(1, parts) for _ in range(chance.randrange(4)))
        waiting.append([*(log.until(count) for count in counts), log])
    while waiting:
        turn = chance.choice(waiting)
        yield turn.pop(0)
        waiting = [one for one in waiting if one]


def canonical(space: Workspace) -> Dump:
    """The dump without the number of events ever captured: half-written texts count there."""
    entries = space.dump()
    for entry in entries:
        del entry["session"]["event_count"]
    return entries


@pytest.mark.parametrize("place", list(PLACES))
@pytest.mark.parametrize("seed", range(max(2, SIZES.ways // 3)))
def test_rows_give_one_store_whatever_way_they_come_in(
    tmp_path: Path, place: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(f"{seed} {place}")
    space = Workspace(tmp_path)
    home = space.flavor_home("opencode")
    if chance.random() < 0.5:
        monkeypatch.setattr(opencode_files, "BLOCK_BYTES", 700)
        space.set_ingest(commit_bytes=1)
    for log in states(opencode(), chance):
        PLACES[place](log, home)
        if chance.random() < 0.3:
            die_somewhere(space, chance)
        if chance.random() < 0.7:
            space.sweep()
    space.sweep()
    straight = space.with_store("straight")
    straight.sweep()
    assert difference(canonical(space), canonical(straight)) == []
    assert [text for text in broken(space) if not text.startswith("I4")] == []
