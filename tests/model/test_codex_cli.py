"""Codex as a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.model.test_cli_agent import EVENTS, REQUEST, Stage, after, stage

from session_memory.errors import ModelUnavailable
from session_memory.model.failures import CallFailed
from session_memory.model.port import Usage

__all__ = ["stage"]


def test_codex_answers_with_its_last_message_and_its_tokens(stage: Stage) -> None:
    answer = stage.codex().ask(REQUEST)

    assert (answer.text, answer.usage) == ("a test", Usage(100, 9, 20))


def test_codex_gets_the_prompt_on_stdin_no_tools_no_hooks_and_keeps_no_session(
    stage: Stage,
) -> None:
    schema = {"type": "object", "properties": {}, "required": []}

    stage.codex().ask(msgspec.structs.replace(REQUEST, schema=schema))

    called = stage.called
    assert called["prompt"].startswith("<session-memory-pack")
    assert "what is it?" in called["prompt"]
    assert called["args"][-1] == "-"
    assert after(called["args"], "--sandbox") == "read-only"
    for option in ("--ephemeral", "--ignore-user-config", "--json"):
        assert option in called["args"]
    for off in ("hooks", "memories", "shell_tool", "unified_exec", "apps", "plugins"):
        assert f"features.{off}=false" in called["args"]
    assert not Path(after(called["args"], "--output-schema")).exists()  # gone with the call


def test_codex_keeps_from_the_users_configuration_only_where_the_model_is(stage: Stage) -> None:
    (stage.home / ".codex" / "config.toml").write_text(
        'model = "my-model"\nmodel_provider = "mine"\nnotify = ["beep"]\n'
        '[mcp_servers.big]\ncommand = "big"\n'
        '[model_providers.mine]\nbase_url = "http://127.0.0.1:1/v1"\nenv_key = "MINE"\n'
        'experimental_bearer_token = "hidden"\n'
        '[model_providers.other]\nbase_url = "http://other"\n'
    )

    answer = stage.codex(MINE="key", OTHER="no").ask(REQUEST)

    called = stage.called
    said = [part for part in called["args"] if "model_provider" in part]
    assert said == [
        'model_provider="mine"',
        'model_providers.mine.base_url="http://127.0.0.1:1/v1"',
        'model_providers.mine.env_key="MINE"',
    ]
    assert answer.model == after(called["args"], "-m") == "my-model"
    assert called["env"]["MINE"] == "key"
    assert "OTHER" not in called["env"]
    assert "big" not in str(called["args"])
    assert "hidden" not in str(called)


@pytest.mark.parametrize(
    ("events", "error", "words"),
    [
        (EVENTS[:3], CallFailed, "middle of its turn"),
        ([], CallFailed, "middle of its turn"),
        (
            [{"type": "turn.failed", "error": {"message": "unexpected status 429"}}],
            CallFailed,
            "429",
        ),
        ([{"type": "error", "message": "401 Unauthorized"}], ModelUnavailable, "sign in"),
    ],
)
def test_what_codex_fails_at_is_reported(
    stage: Stage, events: list[Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        stage.codex(events).ask(REQUEST)
