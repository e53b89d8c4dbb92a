"""Marks come before deletion, so that a cut-off forgetting is finished."""

from __future__ import annotations

import pytest
from tests.store.test_marks import FORGOTTEN, WORD, space

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.errors import StoreError
from session_memory.testing.faults import Stopped, failing_disk
from session_memory.testing.workspace import Workspace

__all__ = ["space"]

KEPT = ClaudeLog(2).session_id


def test_a_forgetting_that_dies_after_the_marks_is_finished_by_the_next_sweep(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise Stopped

    monkeypatch.setattr("session_memory.store.sqlite.forget._forget_session", die)
    with pytest.raises(Stopped):
        space.forget(sessions=(FORGOTTEN,))
    monkeypatch.undo()
    assert FORGOTTEN in space.sessions()
    space.sweep()
    assert set(space.sessions()) == {KEPT}
    with space.store() as store:
        assert store.traces(WORD) == []


def test_nothing_is_forgotten_when_the_marks_cannot_be_written(space: Workspace) -> None:
    before = space.dump()
    with pytest.raises((OSError, StoreError)), failing_disk("disk full", 1, stays=True):
        space.forget(sessions=(FORGOTTEN,))
    assert space.dump() == before
