"""Pieces of text that adapters make: parts of a message, and records of no known type as JSON."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from session_memory.adapters.common import Json
from session_memory.core.hashing import blake2b
from session_memory.core.schema import EventKind, Origin

EXCERPT = 2048
"""Characters kept of records of unknown type, and of listings of little value."""

# Spelled out: the module `string` costs an idle sweep a millisecond.
_TOKEN = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+/=.~%"
_TOKEN_MAX = 1024


class Piece(NamedTuple):
    """One part of a text that arrived under the role `user`."""

    kind: EventKind
    origin: Origin
    label: str | None
    text: str


def compact_json(value: Json, cap: int | None = None) -> str:
    """JSON without blanks, of at most `cap` characters."""
    try:
        text = msgspec.json.encode(value).decode()
    except (OverflowError, ValueError):  # an integer no JSON number of ours holds
        import json  # 2 ms that an idle sweep saves

        text = json.dumps(value, ensure_ascii=False, default=str)
    except RecursionError:  # the decoder stood a few calls higher, so it got a little deeper
        text = "[nested too deeply]"
    return text if cap is None else excerpt(text, cap)


def excerpt(text: str, cap: int = EXCERPT) -> str:
    """The beginning of a text, without the word the cut falls into.

    Redaction comes later and does not recognise half a secret.
    """
    if len(text) <= cap:
        return text
    head = text[:cap]
    shortened = head.rstrip(_TOKEN)
    return shortened if cap - len(shortened) <= _TOKEN_MAX else head


def after_blanks(text: str, start: int) -> int:
    """Where the next word or tag begins."""
    while start < len(text) and text[start].isspace():
        start += 1
    return start


def mark_of(text: str) -> str:
    """A short hash by which the same text is recognised later."""
    return blake2b(text.strip().encode("utf-8", "replace"), digest_size=8).hexdigest()
