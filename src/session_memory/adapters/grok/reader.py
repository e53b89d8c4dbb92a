"""Grok Build: a session is a directory, read from its update lines and its side files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

import msgspec

from session_memory.adapters.block_records import whole_records
from session_memory.adapters.common import (
    Block,
    Json,
    Normalized,
    SessionPart,
    SourceFile,
    as_list,
    as_object,
    as_text,
    decode_record,
    parse_time,
)
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.grok import AGENT
from session_memory.adapters.grok.chat import ChatEventBuilder, row_kind
from session_memory.adapters.grok.files import (
    CHECKPOINTS,
    CWD,
    EVENTS,
    LOG,
    MISSING,
    OVERFLOWS,
    SUBAGENTS,
    SUMMARY,
    TOO_LARGE,
    UPDATES,
    discover,
    named,
    read,
)
from session_memory.adapters.grok.order import Line, Record, in_order, line_of
from session_memory.adapters.grok.text import content_text, user_pieces
from session_memory.adapters.grok.tools import outcomes_of
from session_memory.adapters.grok.updates import EventBuilder, Sides

__all__ = ["ADAPTER", "Normalized", "discover", "parse", "read"]

PARSER_VERSION = 2

_ENCODED = re.compile(r"%2F|[A-Za-z](?::|%3A)", re.I)
"""How the name of a group begins when it is a path; a longer path stands in a file of its own."""


def parse(source: SourceFile, block: Block, _state: dict[str, Json]) -> Normalized:
    """Read a whole session: the block holds its log and its side files."""
    bundle = Normalized(too_long=block.too_long)
    path = source.path.replace("\\", "/").split("/")
    summary = decode_record(block.side_files.get(SUMMARY, b"")) or {}
    log = block.side_files.get(LOG, path[-1].encode()).decode()
    bundle.missing.update(_missing(block.side_files, log))
    if log == UPDATES:
        lines = _updates(bundle, block)
        said = next((line.session for line in lines if line.session), "")
    else:
        lines, said = [], ""
    session = as_text(as_object(summary.get("info")).get("id")) or said or path[-2]
    part = PartBuilder(session, _parent(summary))
    for name in bundle.missing:
        part.note("missing_part", name, 0)
    _note_summary(part, summary, _cwd(summary, block.side_files, path[-3] if len(path) > 2 else ""))
    children = _listed_children(block.side_files, session)
    sides = _sides(summary, block.side_files)
    if log == UPDATES:
        children |= _add_updates(bundle, part, sides, lines)
    else:
        _add_chat(bundle, part, sides, block, summary)
        part.note("stand_in", "history", 0)  # the same conversation, without times
    _note_times(part, summary)
    bundle.sessions = [part.build(), *_links(children, session)]
    return bundle


def _missing(side_files: dict[str, bytes], log: str) -> Iterator[str]:
    """Parts that are not there or cannot be used: the session has fewer events or facts."""
    absent, too_large = (
        [name for name in side_files.get(key, b"").decode("utf-8", "replace").split("\n") if name]
        for key in (MISSING, TOO_LARGE)
    )
    yield from absent
    yield from (f"{name} (too large)" for name in too_large)
    if SUMMARY in side_files and decode_record(side_files[SUMMARY]) is None:
        yield f"{SUMMARY} (damaged)"
    if log != UPDATES and UPDATES not in absent:
        yield f"{UPDATES} (empty)"


# --- the two kinds of log ---


def _add_updates(
    bundle: Normalized, part: PartBuilder, sides: Sides, lines: list[Line]
) -> dict[str, str]:
    builder = EventBuilder(part, sides)
    builder.read(in_order(lines))
    bundle.ignored += builder.ignored
    bundle.unknown += builder.unknown
    return builder.children


def _add_chat(
    bundle: Normalized, part: PartBuilder, sides: Sides, block: Block, summary: Record
) -> None:
    records = whole_records(block, bundle, _is_row)
    copied = summary.get("inherited_prefix_len")
    builder = ChatEventBuilder(part, sides.outcomes, by_agent=sides.by_agent)
    builder.read([row for _, row in records], copied if type(copied) is int else 0)
    bundle.ignored += builder.ignored
    for kind, count in builder.unknown.items():
        bundle.unknown[sides.version, kind] += count


def _is_row(record: Record) -> bool:
    return bool(row_kind(record))


def _is_update(record: Record) -> bool:
    return line_of(0, record) is not None


def _updates(bundle: Normalized, block: Block) -> list[Line]:
    records = whole_records(block, bundle, _is_update)
    lines = (line_of(offset, record) for offset, record in records)
    return [line for line in lines if line is not None]


# --- side files ---


def _sides(summary: Record, side_files: dict[str, bytes]) -> Sides:
    version = summary.get("chat_format_version")
    folders = tuple(f"{name}/" for name in OVERFLOWS)
    return Sides(
        outcomes=outcomes_of(side_files.get(EVENTS, b"").split(b"\n")),
        overflow={
            name.partition("/")[2].rpartition(".")[0]: data.decode("utf-8", "replace")
            for name, data in side_files.items()
            if name.startswith(folders)
        },
        summaries={
            name: text
            for name, data in side_files.items()
            if name.startswith(f"{CHECKPOINTS}/") and (text := _summary_text(data))
        },
        by_agent=_is_subagent(summary),
        model=as_text(summary.get("current_model_id")),
        # The log names no client version; the format of the history is the next best.
        version=f"format {version}" if type(version) is int else "",
    )


def _summary_text(checkpoint: bytes) -> str:
    """What a compaction put in the place of the conversation."""
    rows = as_list((decode_record(checkpoint) or {}).get("compacted_history"))
    for row in map(as_object, rows):
        if row_kind(row) != "user":
            continue
        for piece in user_pieces(content_text(row.get("content")), "", by_agent=False):
            if piece.label == "compact_summary":
                return piece.text
    return ""


def _listed_children(side_files: dict[str, bytes], session: str) -> dict[str, str]:
    """Sub-agent sessions by the files their parent keeps about them."""
    parents: dict[str, str] = {}
    for name, data in side_files.items():
        if name.startswith(f"{SUBAGENTS}/"):
            meta = decode_record(data) or {}
            if child := as_text(meta.get("child_session_id")):
                parents[child] = as_text(meta.get("parent_session_id")) or session
    return parents


def _links(children: dict[str, str], session: str) -> list[SessionPart]:
    """Parts without events that give sub-agents their parent: their own logs do not name it."""
    parts: list[SessionPart] = []
    for child, parent in children.items():
        if child not in (session, parent):
            link = PartBuilder(child, parent)
            link.note("parent", parent, 0)
            parts.append(link.build())
    return parts


# --- facts ---


def _is_subagent(summary: Record) -> bool:
    return as_text(summary.get("session_kind")).startswith("subagent")


def _parent(summary: Record) -> str | None:
    """Who started a sub-agent; for any other session the same field names what it forked from."""
    return as_text(summary.get("parent_session_id")) or None if _is_subagent(summary) else None


def _note_summary(part: PartBuilder, summary: Record, cwd: str) -> None:
    kind, origin = as_text(summary.get("session_kind")), as_text(summary.get("parent_session_id"))
    manual = summary.get("title_is_manual") is True
    started_by = "exec" if kind == "headless" else "interactive"
    facts = (
        ("cwd", cwd),
        ("source_kind", "subagent" if _is_subagent(summary) else started_by),
        ("entrypoint", kind),
        ("branch", as_text(summary.get("head_branch"))),
        ("commit", as_text(summary.get("head_commit"))),
        ("model", as_text(summary.get("current_model_id"))),
        ("title.custom" if manual else "title.ai", as_text(summary.get("generated_title"))),
        ("title.summary", as_text(summary.get("session_summary"))),
        ("label", as_text(summary.get("agent_name")) if _is_subagent(summary) else ""),
        ("forked_from", "" if _is_subagent(summary) else origin),
    )
    for name, value in facts:
        if value:
            part.note(name, value, 0)
    # A fork copies its parent's lines with their times: only this says when it began itself.
    if (opened := parse_time(summary.get("created_at"))) is not None:
        part.note("opened_at", opened, 0)


def _note_times(part: PartBuilder, summary: Record) -> None:
    """Where no event has a time, the times of the summary are used."""
    if any(event.at is not None for event in part.events):
        return
    for name, field in (("started_at", "created_at"), ("ended_at", "last_active_at")):
        if (at := parse_time(summary.get(field))) is not None:
            part.note(name, at, 0)


def _cwd(summary: Record, side_files: dict[str, bytes], group: str) -> str:
    """Where the session ran: said by its summary, else by the group of directories it is in."""
    said = as_text(as_object(summary.get("info")).get("cwd"))
    if said:
        return said
    if _ENCODED.match(group):
        return unquote(group)
    return side_files.get(f"../{CWD}", b"").decode("utf-8", "replace").strip()


ADAPTER = msgspec.structs.replace(
    AGENT.adapter(discover=discover, parse=parse, read=read, version=PARSER_VERSION),
    named=named,
    incremental=False,
)
