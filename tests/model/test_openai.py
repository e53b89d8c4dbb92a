"""What the Responses API and compatible servers are asked."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.model.meters import metered
from tests.model.test_sdk import ALL, PLAIN, Opened, by_chat, by_responses

from session_memory.store.port import Store
from session_memory.testing.model_server import ModelServer, Play

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "string"}},
    "required": ["a"],
    "additionalProperties": False,
}


SHAPED = msgspec.structs.replace(PLAIN, schema=SCHEMA, schema_name="shape")


def test_the_responses_request_has_one_message_no_tools_and_is_not_kept() -> None:
    with ModelServer([Play()]) as server:
        by_responses(server.url).ask(SHAPED)
        (sent,) = server.requests

    assert sent.path == "/v1/responses"
    wish = {"type": "json_schema", "name": "shape", "schema": SCHEMA, "strict": True}
    assert sent.body == {
        "model": "gpt-5-mini",
        "instructions": "be terse",
        "input": [{"role": "user", "content": "what is it?"}],
        "max_output_tokens": 77,
        "tools": [],
        "parallel_tool_calls": False,
        "store": False,
        "stream": True,
        "text": {"format": wish},
    }


def test_a_compatible_server_is_asked_by_chat_completions() -> None:
    with ModelServer([Play()]) as server:
        by_chat(server.url).ask(SHAPED)
        (sent,) = server.requests

    assert sent.path == "/v1/chat/completions"
    assert sent.body["response_format"]["json_schema"]["schema"] == SCHEMA
    assert sent.body["max_tokens"] == 77
    assert "tools" not in sent.body


@ALL
def test_a_server_without_schemas_is_asked_in_words_and_from_then_on(opened: Opened) -> None:
    with ModelServer([Play("no_schema", '{"a": "b"}')]) as server:
        model = opened(server.url)
        assert model.ask(SHAPED).text == '{"a": "b"}'
        model.ask(SHAPED)
        bodies = [sent.body for sent in server.requests]

    asked = ["output_config" in b or "text" in b or "response_format" in b for b in bodies]
    assert asked == [True, False, False]
    assert '"additionalProperties": false' in str(bodies[1])


def test_a_server_that_counts_nothing_is_charged_by_length(store: Store) -> None:
    with ModelServer([Play("no_usage", "123456")]) as server:
        metered(by_chat(server.url), store).ask(PLAIN)

    (row,) = store.spend.totals("day", "2000-01-01")
    assert (row.input_tokens, row.output_tokens) == (7, 2)
