"""A sweep observes what it captures, in the same pass as the digest."""

from __future__ import annotations

from pathlib import Path

import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog, text_block
from session_memory.core.schema import Observation
from session_memory.store.port import ObservationQuery
from session_memory.testing.workspace import Workspace

NAME = ClaudeLog(1).session_id


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "space")


def observed(space: Workspace) -> list[Observation]:
    with space.store() as store:
        return store.observations(ObservationQuery())


def a_log() -> ClaudeLog:
    log = ClaudeLog(1)
    log.prompt("Please port the reader. Never touch the writer.")
    log.reply(text_block("Decision: keep the old format\n\nPending: write the docs"))
    return log


def test_a_sweep_stores_observations_with_their_events(space: Workspace) -> None:
    space.write(a_log())
    space.sweep()
    found = {one.type: one for one in observed(space)}
    assert found["constraint"].text == "Never touch the writer"
    assert found["decision"].text == "keep the old format"
    assert found["pending_item"].text == "write the docs"
    events = {event.id: event for event in space.events(NAME)}
    assert {events[one.event or 0].kind for one in found.values()} == {
        "user_prompt",
        "assistant_text",
    }
    assert space.findings() == []


def test_a_second_sweep_changes_nothing_and_growth_is_observed(space: Workspace) -> None:
    log = a_log()
    space.write(log)
    space.sweep()
    before = space.dump()
    assert before[0]["observations"]
    space.sweep()
    assert space.dump() == before
    log.prompt("Now port the viewer module the same way, please")
    space.write(log)
    space.sweep()
    assert "Now port the viewer module the same way, please" in [
        one.text for one in observed(space)
    ]


def test_observations_are_the_same_whatever_way_the_log_came_in(tmp_path: Path) -> None:
    at_once, in_pieces = Workspace(tmp_path / "a"), Workspace(tmp_path / "b")
    at_once.write(a_log())
    at_once.sweep()
    first = a_log()
    whole = in_pieces.write(first)[0].read_bytes()
    lines = whole.splitlines(keepends=True)
    for end in range(1, len(lines) + 1):
        in_pieces.files()[0].write_bytes(b"".join(lines[:end]))
        in_pieces.sweep()
    assert in_pieces.dump() == at_once.dump()


def test_they_stay_when_the_raw_text_goes_and_grow_with_the_session(space: Workspace) -> None:
    log = a_log()
    space.write(log)
    space.sweep()
    before = {one.text for one in observed(space)}
    space.set_retention(raw_soft_cap_bytes=1)
    space.sweep()
    assert space.session(NAME).state == "raw_evicted"
    assert {one.text for one in observed(space)} == before
    space.set_retention(raw_soft_cap_bytes=None)
    log.prompt("Also rename the module to reading, please")
    space.write(log)
    space.sweep()
    after = {one.text for one in observed(space)}
    assert before < after
    assert "Also rename the module to reading, please" in after
    assert space.findings() == []
