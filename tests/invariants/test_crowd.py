"""Many processes work on one store at once, and nobody sees anything half done."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.invariants.sessions import claude
from tests.invariants.sizes import SIZES, record

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.core.retention.plan import Eviction
from session_memory.errors import NotFound, StoreDamaged
from session_memory.store.sqlite import SqliteStore
from session_memory.testing.workspace import Workspace


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the crowd is forked")
def test_a_crowd_of_processes_leaves_a_whole_store_and_no_reader_without_its_text(
    tmp_path: Path,
) -> None:
    given = [str(tmp_path / "space"), *map(str, (SIZES.processes, SIZES.operations, SIZES.seed))]
    done = subprocess.run(
        [sys.executable, "-m", "tests.invariants.crowd", *given],
        env=Workspace(tmp_path).environ(),
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    record("crowd", **{**result, "problems": len(result["problems"])}, seed=SIZES.seed)
    assert result["problems"] == []
    assert result["operations"] == SIZES.processes * SIZES.operations


def half_read(
    space: Workspace, change: Callable[[SqliteStore, int], object], log: ClaudeLog | None = None
) -> list[str | None]:
    """Read the first event of a session, let somebody else change the store, and read on."""
    if log is None:
        log = claude(30, steps=6)
        space.read_in_blocks(1500)
    space.write(log)
    space.sweep()
    with space.store() as reader, space.store() as other:
        session = reader.find_session(log.session_id).id
        events = reader.events(session, texts=True)
        first = next(events)
        change(other, session)
        return [first.text, *(event.text for event in events)]


def test_who_reads_while_texts_are_moved_reads_on(space: Workspace) -> None:
    texts = half_read(space, lambda store, session: store.compact(session))
    assert texts == [event.text for event in space.events(claude(30).session_id)]


def test_who_reads_a_segment_that_is_written_anew_under_its_id_reads_on(space: Workspace) -> None:
    log = claude(30)
    for number in range(3):
        log.run(f"cat part-{number}", " ".join(map(str, range(number, 30_000))))
    texts = half_read(space, lambda store, session: store.compact(session, at_least=1), log)
    assert texts == [event.text for event in space.events(log.session_id)]


def test_reading_while_texts_are_evicted_reports_eviction_and_not_damage(space: Workspace) -> None:
    def evict(store: SqliteStore, session: int) -> None:
        store.evict([Eviction(session, claude(30).session_id, 1, "age")], space.now)

    with pytest.raises(NotFound):
        half_read(space, evict)


def test_a_text_that_is_really_missing_is_damage(space: Workspace) -> None:
    def lose(store: SqliteStore, _session: int) -> None:
        store.segments.delete(list(store.segments.names()))

    with pytest.raises(StoreDamaged):
        half_read(space, lose)
