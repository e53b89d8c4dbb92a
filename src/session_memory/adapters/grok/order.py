"""The order of Grok Build's update lines, which is not that of the file."""

from __future__ import annotations

import re
from collections.abc import Iterable

import msgspec

from session_memory.adapters.common import Json, as_object, as_text, parse_time

Record = dict[str, Json]

_EVENT_ID = re.compile(r"(.*)-(\d{1,9})")
_RUN_BITS, _PLACE_BITS = 40, 8


class Line(msgspec.Struct):
    """One update, with its place among the others."""

    offset: int
    update: Record
    meta: Record
    at: int | None
    run: int = 0
    number: int = 0
    near: int = 0
    """Its time, or that of the line before it: decides between equal numbers."""
    session: str = ""
    pos: int = 0
    """Where its events begin; unique, rising, and the same whatever is appended later."""

    @property
    def kind(self) -> str:
        """The update's type, in Grok's word."""
        return as_text(self.update.get("sessionUpdate"))


def line_of(offset: int, record: Record) -> Line | None:
    """A record's update out of its envelope, or bare as old clients wrote it; None if neither."""
    params = as_object(record.get("params")) or record
    update = as_object(params.get("update")) or params
    if not as_text(update.get("sessionUpdate")):
        return None
    meta = as_object(params.get("_meta")) if update is not params else {}
    at = parse_time(meta.get("agentTimestampMs"))
    if at is None:
        at = parse_time(record.get("timestamp"))
    return Line(offset, update, meta, at, session=as_text(params.get("sessionId")))


def in_order(lines: Iterable[Line]) -> list[Line]:
    """Lines as they happened, given in file order.

    Grok flushes hooks, tools and texts on different ways, so lines overtake each other; `eventId`
    counts them as they happened. But it counts from the start again in every process that
    continues the session, so it orders only what one process wrote: a number that goes down while
    the clock goes up is a new run, and so is the first line behind those a fork has copied.
    """
    ordered = list(lines)
    run, top, top_at, last, near, owner = 0, -1, 0, 0, 0, ""
    for line in ordered:
        match = _EVENT_ID.fullmatch(as_text(line.meta.get("eventId")))
        if match is None:  # stays behind the line before it
            line.run, line.number, line.near = run, last, near
            continue
        number, at = int(match[2]), near if line.at is None else line.at
        if (owner and match[1] != owner) or (number <= top and at > top_at):
            run, top = run + 1, -1
        owner = match[1]
        if number > top:
            top, top_at = number, at
        last, near = number, at
        line.run, line.number, line.near = run, number, at
    ordered.sort(key=lambda line: (line.run, line.number, line.near, line.offset))
    for line in ordered:
        line.pos = line.run << _RUN_BITS | line.number << _PLACE_BITS
    return ordered
