"""What the Messages API is asked."""

from __future__ import annotations

from tests.model.test_openai import SCHEMA, SHAPED
from tests.model.test_sdk import by_messages

from session_memory.testing.model_server import ModelServer, Play


def test_the_messages_request_has_one_message_and_no_tools() -> None:
    with ModelServer([Play()]) as server:
        by_messages(server.url).ask(SHAPED)
        (sent,) = server.requests

    assert sent.path == "/v1/messages"
    assert sent.body == {
        "model": "claude-haiku-4-5",
        "max_tokens": 77,
        "system": "be terse",
        "messages": [{"role": "user", "content": "what is it?"}],
        "stream": True,
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
    }
