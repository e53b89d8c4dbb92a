"""OpenCode: sessions of its database, of its older JSON storage, and exported ones."""

from __future__ import annotations

import os
import re

import msgspec

from session_memory.adapters.common import (
    Block,
    Json,
    Normalized,
    SourceFile,
    as_list,
    as_object,
    as_text,
    decode_record,
    parse_time,
)
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.opencode import AGENT
from session_memory.adapters.opencode.files import discover, named, open_lines, read
from session_memory.adapters.opencode.parts import EventBuilder, Message, Record

__all__ = ["ADAPTER", "discover", "parse", "read"]

PARSER_VERSION = 1

_UNTITLED = re.compile(r"(?:New|Child) session - \d{4}-")
"""How the client names a session until a model finds something better."""


class _State(msgspec.Struct):
    """What a block needs to know of the blocks before it."""

    id: str = ""
    parent: str | None = None
    version: str = ""
    message: Message = msgspec.field(default_factory=Message)


def parse(source: SourceFile, block: Block, state: dict[str, Json]) -> Normalized:
    """Read a block of a session's lines; its first line is the session's own record."""
    bundle = Normalized(too_long=block.too_long)
    held = msgspec.convert(state, _State)
    records: list[tuple[int, Record]] = []
    info: Record = {}
    for offset, line in block.lines:
        record = decode_record(line)
        if record is None:
            bundle.damage(offset)
        elif "session" in record:
            bundle.records += 1
            info = as_object(record["session"])
            held.id = as_text(record.get("id"))
            if info.get("parentID") == held.id:  # else a person's words were taken for an agent's
                info = {**info, "parentID": None}
            held.parent = as_text(info.get("parentID")) or None
            held.version = as_text(info.get("version"))
        else:
            bundle.records += "end" not in record
            records.append((offset, record))
    part = PartBuilder(held.id or _name_of(source.path), held.parent)
    _note_session(bundle, part, info)
    builder = EventBuilder(part, held.version, held.message)
    for offset, record in records:
        builder.read(offset, record)
    for event in part.events:
        if event.at is not None:
            part.note_time(event.at, event.pos)
    bundle.ignored += builder.ignored
    bundle.unknown += builder.unknown
    if info or part.events:
        bundle.sessions = [part.build()]
    held.message = builder.message
    bundle.state = msgspec.to_builtins(held)
    return bundle


def _name_of(path: str) -> str:
    """A session whose own record cannot be read is still named by where it stands."""
    name = os.path.basename(path.replace("\\", "/"))
    return name.rpartition("#")[2].removesuffix(".json")


def _note_session(bundle: Normalized, part: PartBuilder, info: Record) -> None:
    title, parent = as_text(info.get("title")), as_text(info.get("parentID"))
    facts = (
        ("cwd", as_text(info.get("directory"))),
        ("client_version", as_text(info.get("version"))),
        ("title.ai", "" if _UNTITLED.match(title) else title),
        ("parent", parent),
        ("label", as_text(info.get("agent")) if parent else ""),
        ("source_kind", _source_kind(info) if info else ""),
    )
    for name, value in facts:
        if value:
            part.note(name, value, 0)
    # A fork copies messages with their times: only this says when it began itself.
    if (opened := parse_time(as_object(info.get("time")).get("created"))) is not None:
        part.note("opened_at", opened, 0)
    if newer := info.get("newer_rows"):
        bundle.unknown[as_text(info.get("version")), "table/session_message"] += int(newer)
    if info.get("revert"):
        bundle.ignored["revert"] += 1


def _source_kind(info: Record) -> str:
    """`opencode run` forbids questions, because nobody is there to answer them."""
    if as_text(info.get("parentID")):
        return "subagent"
    rules = map(as_object, as_list(info.get("permission")))
    asks = {as_text(rule.get("permission")): as_text(rule.get("action")) for rule in rules}
    return "exec" if asks.get("question") == "deny" else "interactive"


ADAPTER = msgspec.structs.replace(
    AGENT.adapter(discover=discover, parse=parse, read=read, version=PARSER_VERSION),
    discover_changed=discover,
    named=named,
    open=open_lines,
    incremental=False,
)
