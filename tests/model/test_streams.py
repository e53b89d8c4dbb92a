"""A streamed answer is its deltas or its first message, and only if it is complete."""

from __future__ import annotations

import pytest

from session_memory.model.failures import CallFailed
from session_memory.model.port import Usage
from session_memory.model.streams import Completed, Delta, ItemDone, StreamError, StreamEvent, fold

DONE = Completed(Usage(1, 1), "m")


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
        [Delta("a"), StreamError("no"), DONE],
    ],
)
def test_a_stream_that_breaks_off_or_reports_an_error_is_no_answer(
    events: list[StreamEvent],
) -> None:
    with pytest.raises(CallFailed):
        fold(events, "m")
