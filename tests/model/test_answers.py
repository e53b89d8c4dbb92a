"""Reading answers: streams, JSON in wrapping, and texts cut to fit a prompt."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_memory.errors import ModelFailed
from session_memory.model.cut import Cut, cut, prefix, suffix
from session_memory.model.failures import CallFailed
from session_memory.model.parse import parse_answer, parse_object
from session_memory.model.port import Usage
from session_memory.model.streams import Broken, Completed, Delta, ItemDone, StreamEvent, fold

DONE = Completed(Usage(1, 1), "m")
MARKER = "\n\n[... ROLLOUT TRUNCATED FOR MEMORY EXTRACTION ...]\n\n"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"traceMemory": {"type": "string"}, "summary": {"type": "string"}},
    "required": ["traceMemory", "summary"],
    "additionalProperties": False,
}


@pytest.mark.rows("EXT-24")
@pytest.mark.parametrize(
    ("events", "text"),
    [
        ([Delta("a"), Delta("b"), ItemDone("message", "X"), DONE], "ab"),
        ([ItemDone("message", "X"), DONE], "X"),
        ([ItemDone("message", "X"), ItemDone("message", "Y"), DONE], "X"),
        ([ItemDone("reasoning", "R"), ItemDone("message", "X"), DONE], "X"),
        ([ItemDone("message", ""), ItemDone("message", "X"), DONE], "X"),
        ([Delta(""), ItemDone("message", "X"), DONE], "X"),
    ],
)
def test_a_stream_is_its_deltas_or_else_its_first_finished_message(
    events: list[StreamEvent], text: str
) -> None:
    assert fold(events, "m").text == text


@pytest.mark.rows("EXT-24")
@pytest.mark.parametrize(
    "events",
    [
        [],
        [Delta("a"), Delta("b")],
        [Delta("a"), ItemDone("message", "a")],
        [Delta("a"), Broken("no"), DONE],
    ],
)
def test_a_stream_that_breaks_off_or_reports_an_error_is_no_answer(
    events: list[StreamEvent],
) -> None:
    with pytest.raises(CallFailed):
        fold(events, "m")


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


@pytest.mark.rows("EXT-18")
def test_a_long_text_keeps_a_third_from_its_head_and_the_rest_from_its_tail() -> None:
    text = "HEAD" + "x" * 1_399_998 + "TAIL"

    done = cut(text, 1_000_000, MARKER)

    head, tail = done.text.split(MARKER)
    assert done.truncated
    assert head.startswith("HEAD")
    assert tail.endswith("TAIL")
    assert len(done.text) <= 1_000_000
    room = 1_000_000 - len(MARKER)
    assert (len(head), len(tail)) == (room // 3, room - room // 3)


@pytest.mark.rows("EXT-19")
def test_a_cut_never_splits_a_character() -> None:
    assert prefix(("é" * 10).encode(), 5).decode() == "éé"
    assert suffix(("é" * 10).encode(), 5).decode() == "éé"


@pytest.mark.rows("EXT-18", "EXT-19")
@given(st.text(max_size=300), st.integers(0, 200), st.sampled_from(["", "…", MARKER]))
def test_whatever_is_cut_fits_and_decodes(text: str, limit: int, marker: str) -> None:
    done = cut(text, limit, marker)

    size = len(text.encode())
    assert done.truncated == (size > limit)
    assert len(done.text.encode()) <= max(limit, 0)
    if done.truncated and marker and marker in done.text:
        head, _, tail = done.text.partition(marker)
        assert text.startswith(head)
        assert text.endswith(tail)
        # Whole characters only: at most three bytes of each side's share are lost.
        room = limit - len(marker.encode())
        assert len(head.encode()) > room // 3 - 4
        assert len(tail.encode()) > room - room // 3 - 4


@pytest.mark.rows("EXT-20")
def test_a_text_at_the_limit_is_left_alone() -> None:
    assert cut("é" * 50, 100, MARKER) == Cut("é" * 50, truncated=False)
    assert cut("é" * 50, 99, MARKER).truncated
