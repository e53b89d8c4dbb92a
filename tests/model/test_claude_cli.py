"""Claude Code as a model."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.model.test_cli_agent import REQUEST, RESULT, Stage, after, stage

from session_memory.errors import ModelUnavailable
from session_memory.model.failures import CallFailed
from session_memory.model.marks import fenced
from session_memory.model.port import Usage

__all__ = ["stage"]


def test_claude_answers_with_the_tokens_and_dollars_it_states(stage: Stage) -> None:
    answer = stage.claude().ask(REQUEST)

    assert (answer.text, answer.model) == ("it is a test", "claude-haiku-4-5")
    assert answer.usage == Usage(103, 51, 20, 5, 0.0021)


def test_claude_gets_the_prompt_on_stdin_no_tools_no_hooks_and_keeps_no_session(
    stage: Stage,
) -> None:
    stage.claude().ask(REQUEST)

    called = stage.called
    assert called["prompt"] == fenced("what is it?")
    assert "what is it?" not in str(called["args"])
    assert after(called["args"], "--tools") == ""
    assert after(called["args"], "--max-turns") == "2"
    assert after(called["args"], "--system-prompt") == "be terse"
    assert json.loads(after(called["args"], "--settings")) == {"disableAllHooks": True}
    assert "--no-session-persistence" in called["args"]
    assert "--strict-mcp-config" in called["args"]
    assert called["env"]["CLAUDE_CODE_MAX_OUTPUT_TOKENS"] == "77"


@pytest.mark.parametrize(
    ("result", "error", "words"),
    [
        ({"is_error": True, "result": "API Error: 529 overloaded"}, CallFailed, "529"),
        ({"is_error": True, "result": "Invalid API key · /login"}, ModelUnavailable, "sign in"),
        ({"subtype": "error_max_turns", "result": None}, CallFailed, "error_max_turns"),
        ({"type": "other"}, CallFailed, "claude failed"),
    ],
)
def test_what_claude_fails_at_is_reported(
    stage: Stage, result: dict[str, Any], error: type[Exception], words: str
) -> None:
    body = f"print({json.dumps({**RESULT, **result})!r})"

    with pytest.raises(error, match=words):
        stage.claude(body).ask(REQUEST)
