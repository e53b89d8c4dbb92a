"""pi: finds its session files, and OpenClaw's, and reads one with all its branches."""

from __future__ import annotations

import msgspec

from session_memory.adapters.block_records import has_type, whole_records
from session_memory.adapters.common import (
    Block,
    Json,
    Normalized,
    SourceFile,
    as_text,
    parse_time,
)
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.pi import AGENT
from session_memory.adapters.pi.entries import ENTRY_TYPES, EventBuilder
from session_memory.adapters.pi.files import discover, read, session_of
from session_memory.adapters.pi.tree import Entry, Record, live_places

__all__ = ["ADAPTER", "Normalized", "discover", "parse", "read"]

PARSER_VERSION = 1


def parse(source: SourceFile, block: Block, _state: dict[str, Json]) -> Normalized:
    """Read a whole session: the block holds all of its file."""
    bundle = Normalized(too_long=block.too_long)
    records = whole_records(block, bundle, _is_entry, has_type)
    entries = [Entry(offset, record) for offset, record in records]
    if not entries:
        return bundle
    headers = [entry.record for entry in entries if entry.record.get("type") == "session"]
    header = headers[0] if headers else {}
    session = as_text(header.get("id")) or session_of(source.path)
    part = PartBuilder(session)
    builder = EventBuilder(part, _version(header))
    _note_header(part, header)
    live = live_places(entries)
    opened = parse_time(header.get("timestamp")) if _origin(header) else None
    for index, entry in enumerate(entries):
        if entry.record.get("type") == "session":
            continue  # the first is the header; more come where files were put together
        before = len(part.events)
        builder.read(entry, live=index in live)
        own = builder.at is not None and (opened is None or builder.at >= opened)
        if own and builder.at is not None and len(part.events) > before:
            part.note_time(builder.at, entry.offset)
    bundle.ignored += builder.ignored
    bundle.unknown += builder.unknown
    bundle.sessions = [part.build()]
    return bundle


def _is_entry(value: Record) -> bool:
    """Whether this is an entry, not a part of one: content blocks have a type, but no time."""
    return as_text(value.get("type")) in ENTRY_TYPES and "timestamp" in value


def _version(header: Record) -> str:
    """The log names no client version; the version of its format is the next best."""
    version = header.get("version", 1)
    return f"format {version}" if type(version) is int else ""


def _origin(header: Record) -> str:
    """The file whose beginning this one copied."""
    return as_text(header.get("parentSession")) or as_text(header.get("branchedFrom"))


def _note_header(part: PartBuilder, header: Record) -> None:
    origin = _origin(header)
    for name, value in (
        ("cwd", as_text(header.get("cwd"))),
        ("model", as_text(header.get("modelId"))),
        ("title.ai", as_text(header.get("title"))),
        ("forked_from", session_of(origin) if origin else ""),
    ):
        if value and value != part.external_id:
            part.note(name, value, 0)
    # A fork copies its parent's entries with their times: only this says when it began itself.
    if (opened := parse_time(header.get("timestamp"))) is not None:
        part.note("opened_at", opened, 0)


ADAPTER = msgspec.structs.replace(
    AGENT.adapter(discover=discover, parse=parse, read=read, version=PARSER_VERSION),
    incremental=False,
)
