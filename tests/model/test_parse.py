"""The JSON object in an answer is found in any wrapping, and its keys and types are checked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from session_memory.errors import ModelFailed
from session_memory.model.parse import parse_answer, parse_object

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"traceMemory": {"type": "string"}, "summary": {"type": "string"}},
    "required": ["traceMemory", "summary"],
    "additionalProperties": False,
}


@pytest.mark.rows("EXT-25")
@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        '  \n{"a": 1}\n ',
        'Here it is:\n```json\n{"a": 1}\n```\nDone.',
        'So:\n```\n{"a": 1}\n```',
        'The answer is {"a": 1} as you asked.',
        '[{"a": 1}]',
    ],
)
def test_one_object_is_found_in_whatever_it_is_wrapped(text: str) -> None:
    assert parse_object(text) == {"a": 1}


@pytest.mark.rows("EXT-25")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "[1]",
        '[{"a": 1}, {"b": 2}]',
        "3",
        '"a"',
        "null",
        "no JSON here",
        "{",
        "} {",
        "[" * 9_999,
    ],
)
def test_anything_else_cannot_be_parsed(text: str) -> None:
    with pytest.raises(ModelFailed, match="unable to parse"):
        parse_object(text)


@pytest.mark.rows("EXT-26")
def test_further_keys_are_let_through() -> None:
    text = '{"traceMemory": "t", "summary": "s", "extra": 1}'

    assert parse_answer(text, SCHEMA) == {"traceMemory": "t", "summary": "s", "extra": 1}


@pytest.mark.rows("EXT-26")
@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"traceMemory": "t"}', 'payload has no "summary"'),
        ('{"traceMemory": "t", "summary": 3}', 'payload has no string as "summary"'),
        ('{"traceMemory": "t", "summary": null}', 'payload has no string as "summary"'),
    ],
)
def test_a_missing_key_or_a_value_of_another_type_is_an_error(text: str, named: str) -> None:
    with pytest.raises(ModelFailed, match=named):
        parse_answer(text, SCHEMA)


def test_what_cannot_be_read_is_not_repeated_in_the_error() -> None:
    with pytest.raises(ModelFailed) as caught:
        parse_object("the password is hunter2")
    assert "hunter2" not in caught.value.message


@pytest.mark.parametrize(
    ("kind", "value", "fits"),
    [
        ("integer", True, False),
        ("boolean", True, True),
        ("number", 1, True),
        (["string", "null"], None, True),
        ("array", [], True),
        ("object", [], False),
    ],
)
def test_types_are_those_of_json(kind: Any, value: Any, fits: bool) -> None:
    schema = {"properties": {"a": {"type": kind}}, "required": ["a"]}
    text = json.dumps({"a": value})
    if fits:
        assert parse_answer(text, schema) == {"a": value}
    else:
        with pytest.raises(ModelFailed):
            parse_answer(text, schema)
