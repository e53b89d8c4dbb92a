"""What a streamed answer says, whatever the provider: one set of rules over one kind of events.

Deltas are the text. Some servers send no deltas, only the finished message: then the first one that
arrives is the text. A stream that stops before it said it was complete is an error, since half an
answer looks like a whole one.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from session_memory.model.failures import CallFailed, Kind
from session_memory.model.port import Answer, Stop, Usage


class Delta(msgspec.Struct, frozen=True):
    """A further piece of the text."""

    text: str


class ItemDone(msgspec.Struct, frozen=True):
    """A finished item; only one of kind "message" can hold the answer."""

    kind: str
    text: str


class Completed(msgspec.Struct, frozen=True):
    """The provider says that this was all."""

    usage: Usage
    model: str = ""
    stop: Stop = "end"


class Broken(msgspec.Struct, frozen=True):
    """An error the provider sent as an event, after a start that looked well."""

    message: str
    kind: Kind = "error_event"


StreamEvent = Delta | ItemDone | Completed | Broken


def fold(events: Iterable[StreamEvent], model: str) -> Answer:
    """The answer a stream amounts to; raises CallFailed when it is no whole one."""
    pieces: list[str] = []
    for event in events:
        match event:
            case Delta(text):
                pieces.append(text)
            case ItemDone("message", text) if not any(pieces):
                pieces = [text]
            case ItemDone():
                pass  # the deltas said it already, or an earlier message did
            case Broken(message, kind):
                raise CallFailed(f"the model's server reported: {message}", kind)
            case Completed(usage, name, stop):
                return Answer("".join(pieces), name or model, usage, stop)
    raise CallFailed("the answer broke off before it was complete", "cut_stream")
