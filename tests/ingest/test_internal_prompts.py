"""A program that asks for a title is no user: it labels nothing and is worth nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from session_memory.testing.claude_log import ClaudeLog
from session_memory.testing.workspace import Workspace

TITLE_PROMPT = "Generate a concise title for this conversation: fix the login page"


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.mark.rows("SES-03")
def test_a_title_prompt_makes_a_session_of_low_value_without_label(space: Workspace) -> None:
    log = ClaudeLog(1)
    log.prompt(TITLE_PROMPT)
    log.say("Fix login page")
    space.write(log)
    space.sweep()
    session = space.session(log.session_id)
    assert session.low_value == "internal_title_generation_prompt"
    assert "operational_label" not in session.metadata


@pytest.mark.rows("SES-04")
def test_a_later_request_labels_the_session(space: Workspace) -> None:
    log = ClaudeLog(1)
    log.prompt(TITLE_PROMPT)
    log.prompt("Please add a retry to the upload client")
    space.write(log)
    space.sweep()
    session = space.session(log.session_id)
    assert session.low_value is None
    assert session.metadata["operational_label"] == "Please add a retry to the upload client"
    assert session.metadata["internal_prompt_suppressed"] is True


def test_a_request_about_titles_is_a_request(space: Workspace) -> None:
    log = ClaudeLog(1)
    log.prompt("write a short summary of the parser module")
    space.write(log)
    space.sweep()
    assert space.session(log.session_id).low_value is None
