"""Reads a streamed answer by the same rules for every provider.

The text is made of deltas. Some servers send no deltas, only the finished message: then the first
message is the text. A stream that stops before it is completed is an error, since half an answer
looks like a whole one.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from session_memory.model.failures import CallFailed, Kind
from session_memory.model.port import Answer, Stop, Usage


class Delta(msgspec.Struct, frozen=True):
    """The next piece of the text."""

    text: str


class ItemDone(msgspec.Struct, frozen=True):
    """A finished item; only one of kind "message" can hold the answer."""

    kind: str
    text: str


class Completed(msgspec.Struct, frozen=True):
    """The provider says that the answer is complete."""

    usage: Usage
    model: str = ""
    stop: Stop = "end"


class StreamError(msgspec.Struct, frozen=True):
    """An error that the provider sent as an event in the stream."""

    message: str
    kind: Kind = "error_event"


StreamEvent = Delta | ItemDone | Completed | StreamError


def fold(events: Iterable[StreamEvent], model: str) -> Answer:
    """The answer in a stream; raises CallFailed if it is incomplete or reports an error."""
    pieces: list[str] = []
    for event in events:
        match event:
            case Delta(text):
                pieces.append(text)
            case ItemDone("message", text) if not any(pieces):
                pieces = [text]
            case ItemDone():
                pass  # repeats the deltas or an earlier message
            case StreamError(message, kind):
                raise CallFailed(f"the model's server reported: {message}", kind)
            case Completed(usage, name, stop):
                return Answer("".join(pieces), name or model, usage, stop)
    raise CallFailed("the answer broke off before it was complete", "cut_stream")
