"""Gemini CLI: finds its chats and reads them into the schema all flavours share."""

from __future__ import annotations

import os
import re

import msgspec

from session_memory.adapters.block_records import Recover, line_records, tail_record
from session_memory.adapters.common import (
    SETTINGS_CAP,
    Block,
    Json,
    LogDeletion,
    Normalized,
    SessionPart,
    SourceFile,
    as_object,
    as_text,
    decode_record,
    parse_time,
    recover_records,
)
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.gemini import AGENT
from session_memory.adapters.gemini.events import EventBuilder
from session_memory.adapters.gemini.files import (
    OLDER,
    OUTPUT,
    discover,
    folder_of,
    home_of,
    project_of,
    read,
)
from session_memory.adapters.gemini.fold import Fold, Record, is_record, records_of, torn_document
from session_memory.adapters.gemini.project import project_root
from session_memory.plain_files import read_plain

__all__ = ["ADAPTER", "Normalized", "discover", "parse", "read"]

PARSER_VERSION = 2
DEFAULT_CLEANUP_DAYS = 30
_DAYS = {"h": 1 / 24, "d": 1, "w": 7, "m": 30}


def parse(source: SourceFile, block: Block, _state: dict[str, Json]) -> Normalized:
    """Read a whole chat: the block holds its records, and its side files say more."""
    bundle = Normalized(too_long=block.too_long)
    document = source.path.endswith(".json")
    records = _records(bundle, block, document=document)
    if not records:
        return bundle
    session = _session_id(records, source.path)
    fold = Fold()
    for name, data in sorted(block.side_files.items()):
        if name.startswith(OLDER):
            older = list(records_of(data, document=name.endswith(".json")))
            if _session_id(older, name) == session:  # only the first 8 signs are in the name
                fold.older(iter(older))
    for record in records:
        fold.take(record)
    part = PartBuilder(session, _parent(source.path, session))
    children = _add_events(bundle, part, fold, block, "json" if document else "jsonl")
    _note_session(part, fold, block, os.path.basename(project_of(source.path)))
    bundle.sessions = [part.build(), *_links(children, session)]
    return bundle


def _add_events(
    bundle: Normalized, part: PartBuilder, fold: Fold, block: Block, version: str
) -> dict[str, str]:
    outputs = {
        name.removeprefix(OUTPUT): data.decode("utf-8", "replace")
        for name, data in block.side_files.items()
        if name.startswith(OUTPUT)
    }
    builder = EventBuilder(part, fold, outputs)
    builder.build()
    bundle.ignored += fold.ignored + builder.ignored
    for what, count in (fold.unknown + builder.unknown).items():
        bundle.unknown[version, what] += count  # chats name no client version: the form must do
    return builder.children


def _records(bundle: Normalized, block: Block, *, document: bool) -> list[Record]:
    """Every whole record of a block, also those behind or in a torn one."""
    recover: Recover = (lambda line, _: torn_document(line)) if document else recover_records
    pairs = [
        *line_records(block, bundle, is_record, recover),
        *tail_record(block, bundle, lambda _: True),
    ]
    bundle.records += len(pairs)
    return [record for _, record in pairs]


def _session_id(records: list[Record], path: str) -> str:
    """The id a chat gives itself; a chat that lost its header goes by its name."""
    for record in records:
        said = as_object(record.get("$set")) or record
        if "id" not in said and (session := as_text(said.get("sessionId"))):
            return session
    return os.path.basename(path.replace("\\", "/")).rpartition(".")[0]


def _parent(path: str, session: str) -> str | None:
    folder = folder_of(path)
    return folder if folder != session else None


def _links(children: dict[str, str], session: str) -> list[SessionPart]:
    """Parts without events that give sub-agents their parent and name."""
    parts: list[SessionPart] = []
    for child, label in children.items():
        if child != session:
            link = PartBuilder(child, session)
            link.note("parent", session, 0)
            if label:
                link.note("label", label, 0)
            parts.append(link.build())
    return parts


def _note_session(part: PartBuilder, fold: Fold, block: Block, folder: str) -> None:
    is_agent = part.parent is not None or fold.meta.get("kind") == "subagent"
    root = project_root(block.side_files, folder, fold)
    facts = (
        ("cwd", root),
        ("root_hash", "" if root else as_text(fold.meta.get("projectHash"))),
        ("source_kind", "subagent" if is_agent else "interactive"),
        ("title.summary", as_text(fold.meta.get("summary"))),
    )
    for name, value in facts:
        if value:
            part.note(name, value, 0)
    if (opened := parse_time(fold.meta.get("startTime"))) is not None:
        part.note("opened_at", opened, 0)


def log_deletion(home: str) -> LogDeletion | None:
    """After how many days Gemini CLI deletes its own chats."""
    try:
        path = os.path.join(home_of(home), "settings.json")
        settings = decode_record(read_plain(path, SETTINGS_CAP)) or {}
    except OSError:
        settings = {}
    retention = as_object(as_object(settings.get("general")).get("sessionRetention"))
    if retention.get("enabled") is False:
        return None
    age = re.fullmatch(r"(\d{1,5})([hdwm])", as_text(retention.get("maxAge")))
    if age is None:
        return LogDeletion(DEFAULT_CLEANUP_DAYS, "default")
    days = int(int(age.group(1)) * _DAYS[age.group(2)])
    return LogDeletion(days, "settings.json: general.sessionRetention.maxAge")


ADAPTER = msgspec.structs.replace(
    AGENT.adapter(discover=discover, parse=parse, read=read, version=PARSER_VERSION),
    log_deletion=log_deletion,
    incremental=False,
)
