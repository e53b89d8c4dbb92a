"""`fix` in JSON, with odd words, and without any."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.detect.test_fix import UNQUOTED, answer, ask, edited, log, quoted, swept

from session_memory.adapters.claude.log_builder import START, ClaudeLog


@pytest.mark.rows("BRF-08")
def test_json_says_how_often_in_which_sessions_and_when(tmp_path: Path) -> None:
    space = swept(tmp_path, quoted(1, "http://a/x?n=1"))
    found = answer(space, UNQUOTED.format("http://a/x?n=1"))
    (cure,) = found["cures"]
    assert (found["frequency"], found["sessions"]) == (1, 1)
    assert (cure["worked"], cure["tried"], cure["flavors"]) == (1, 1, ["claude"])
    assert {quote["session"] for quote in cure["quotes"]} == {ClaudeLog(1).session_id}
    assert cure["last_at"] == found["last_at"] and found["first_at"] > START


@pytest.mark.parametrize("arguments", [("--", "--- FAIL: TestLogin"), ("--- FAIL: TestLogin",)])
def test_an_error_that_begins_with_dashes_is_text(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    failing = "--- FAIL: TestLogin (0.02s)\nFAIL\nexit status 1"
    space = swept(tmp_path, edited(1, failing, "login.go"))
    assert "edit login.go worked in 1 of 1 session, in Claude Code" in ask(space, *arguments)


def test_an_empty_error_is_a_wrong_call(tmp_path: Path) -> None:
    assert "the error is empty" in ask(swept(tmp_path, log(1)), "  ", code=2)
