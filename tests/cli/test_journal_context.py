"""The project that `project journal` is about."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.test_journal import log, report_lines

from session_memory.__main__ import main
from session_memory.adapters.claude.log_builder import ClaudeLog

__all__ = ["log"]


def test_days_and_projects_that_are_not_there_are_errors(
    log: ClaudeLog, capsys: pytest.CaptureFixture[str]
) -> None:
    report_lines(capsys, "show", "2020-01-01", code=1)
    report_lines(capsys, "show", "../../secret", code=2)
    report_lines(capsys, "today", "--project", "nobody", code=1)
    assert log.session_id


def test_a_folder_below_the_root_belongs_to_the_project_as_in_every_other_command(
    log: ClaudeLog, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    below = Path("src") / "parser"
    below.mkdir(parents=True)
    Path(".git").rmdir()  # only the store still knows where the project's root is
    monkeypatch.chdir(below)
    assert main(["project", "pack"]) == 0
    assert json.loads(report_lines(capsys, "flush", "--json"))["session"] == log.session_id
