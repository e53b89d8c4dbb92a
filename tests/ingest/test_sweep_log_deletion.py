"""An agent that deletes its logs is named on the first sweep, with what was captured in time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.workspace import Workspace


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    space = Workspace(tmp_path)
    log = ClaudeLog(1)
    log.prompt("add a test")
    log.write(space.claude)
    return space


def test_first_sweep_names_the_deletion_and_what_was_captured(space: Workspace) -> None:
    (told,) = space.sweep().warnings
    assert "deletes its logs after 30 days (default)" in told
    assert "captured in time: 1 session, the oldest from 20" in told
    assert space.sweep().warnings == []


def test_an_agent_that_keeps_its_logs_for_years_is_not_named(space: Workspace) -> None:
    settings = space.claude / "settings.json"
    settings.write_text(json.dumps({"cleanupPeriodDays": 9999}), encoding="utf-8")
    assert space.sweep().warnings == []


def test_several_folders_with_one_habit_are_named_once(space: Workspace, tmp_path: Path) -> None:
    second, third = tmp_path / "second", tmp_path / "third"
    for folder in (second, third):
        folder.mkdir()
    (third / "settings.json").write_text(json.dumps({"cleanupPeriodDays": 7}), encoding="utf-8")
    space.paths["claude"] = (str(space.claude), str(second), str(third))
    told = space.sweep().warnings
    assert [words.split(" days")[0].rpartition(" ")[2] for words in told] == ["30", "7"]
