"""The store of Cursor's editor: all sessions in one database, `globalStorage/state.vscdb`.

A session is a `composerData` row, which names its messages in order; each message is a `bubbleId`
row. The database can be very large, so rows are looked up by key.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from session_memory.adapters.common import (
    Normalized,
    SourceFile,
    as_count,
    as_list,
    as_object,
    as_text,
    decode_record,
    parse_time,
)
from session_memory.adapters.excerpt import compact_json
from session_memory.adapters.gather import PartBuilder
from session_memory.adapters.sqlite_log import (
    Database,
    SessionRows,
    capped,
    database_sources,
    readable,
    session_lines,
    text_of,
)
from session_memory.adapters.tell_events import EventTeller
from session_memory.adapters.vscode_places import uri_of
from session_memory.adapters.whole_log import Line, Record, Records
from session_memory.core.schema import Usage

STORE = "state.vscdb"
_NEEDS = {"cursorDiskKV": ("key", "value")}
_COMPOSER = "composerData:"
_BETWEEN = f"key > '{_COMPOSER}' AND key < '{_COMPOSER[:-1]};'"
"""The keys with that prefix, found through the index on keys."""
_JSON = "CAST(value AS TEXT)"
_UPDATED = (
    f"CASE WHEN json_valid({_JSON}) AND json_type({_JSON}, '$.lastUpdatedAt') = 'integer'"
    f" THEN json_extract({_JSON}, '$.lastUpdatedAt') END"
)
_USER, _AGENT = 1, 2


def discover(root: str) -> Iterator[SourceFile]:
    """Every session of the editor."""
    for folder in (root, os.path.join(root, "globalStorage")):
        path = os.path.join(folder, STORE)
        if os.path.lexists(path):
            yield from database_sources(path, _NEEDS, _sessions)


def _sessions(db: Database) -> Iterator[SessionRows]:
    query = f"SELECT {text_of('key')}, octet_length(value), {_UPDATED} FROM cursorDiskKV"
    for key, size, updated in list(db.rows(f"{query} WHERE {_BETWEEN}")):
        changed_at = parse_time(updated)
        yield SessionRows(
            id=readable(key)[len(_COMPOSER) :],
            changed_at=changed_at,
            mark=(size, updated),
            size=size or 0,
        )


def lines(file: SourceFile, cap: int) -> Iterator[Line]:
    """A session's own record, then its messages in order."""
    return session_lines(file, _NEEDS, _lines, cap)


def _lines(db: Database, session: str, cap: int) -> Iterator[Line]:
    found = _value(db, f"{_COMPOSER}{session}", cap)
    if found is None:
        raise FileNotFoundError(f"{session} is no longer in the database")
    (data,) = found
    composer = decode_record(data) if data is not None else None
    if composer is None:
        yield data if data is not None else None
        return
    inline = as_list(composer.pop("conversation", None))
    headers = [as_object(h) for h in as_list(composer.get("fullConversationHeadersOnly"))]
    known: Record = {name: composer[name] for name in _KEPT if name in composer}
    yield compact_json({"composer": known | _header(db, session)}).encode()
    for bubble in inline:
        yield compact_json({"bubble": bubble}).encode()
    for header in headers:
        name = as_text(header.get("bubbleId"))
        bubble = _value(db, f"bubbleId:{session}:{name}", cap)
        if bubble is None:
            yield compact_json({"missing": name}).encode()
        else:
            yield None if bubble[0] is None else b'{"bubble":%b}' % bubble[0]


_KEPT = ("createdAt", "lastUpdatedAt", "modelConfig", "name", "status", "subComposerIds")


def _value(db: Database, key: str, cap: int) -> tuple[bytes | None] | None:
    """A row's value, (None,) where it is over the cap; None where there is no such row."""
    query = f"SELECT {capped('value')} FROM cursorDiskKV WHERE key = ? AND value IS NOT NULL"
    found = next(iter(list(db.rows(query, cap, key))), None)
    return None if found is None else (found[0],)


def _header(db: Database, session: str) -> Record:
    """What newer builds keep apart: the folder, and whether the session is a sub-agent."""
    there = db.columns("composerHeaders")
    if not {"composerId", "value"} <= there:
        return {}
    flag = "isSubagent" if "isSubagent" in there else "NULL"
    query = f"SELECT {flag}, {text_of('value')} FROM composerHeaders WHERE composerId = ?"
    for is_subagent, data in list(db.rows(query, session)):
        header = decode_record(data or b"") or {}
        place = as_object(header.get("workspaceIdentifier")).get("uri")
        return {"folder": uri_of(place), "isSubagent": bool(is_subagent)}
    return {}


def tell(source: SourceFile, records: Records, bundle: Normalized) -> None:
    """Read a whole session."""
    if not records or "composer" not in records[0][1]:
        return
    composer = as_object(records[0][1].get("composer"))
    session = source.path.rpartition("#")[2]
    is_subagent = composer.get("isSubagent") is True
    part = PartBuilder(session)
    part.note("source_kind", "subagent" if is_subagent else "interactive", 0)
    if folder := as_text(composer.get("folder")):
        part.note("cwd", folder, 0)
    if title := as_text(composer.get("name")):
        part.note("title.ai", title, 0)
    opened = parse_time(composer.get("createdAt"))
    if opened is not None:
        part.note("opened_at", opened, 0)
    teller = BubbleTeller(part, bundle, is_subagent=is_subagent)
    teller.at = opened
    teller.model = _model(as_object(composer.get("modelConfig")))
    for number, (_, record) in enumerate(records[1:]):
        if "missing" in record:
            bundle.missing["message"] += 1
            part.note("missing_part", "message", 0)
        else:
            teller.tell(as_object(record.get("bubble")), number)
    teller.finish()
    if part.events:
        for child in map(as_text, as_list(composer.get("subComposerIds"))):
            if child and child != session:
                link = PartBuilder(child, session)
                link.note("parent", session, 0)
                bundle.sessions.append(link.build())


def _model(config: Record) -> str:
    name = as_text(config.get("modelName"))
    return "" if name == "default" else name


class BubbleTeller(EventTeller):
    """Tells the messages of one session."""

    model = ""

    def __init__(self, part: PartBuilder, bundle: Normalized, *, is_subagent: bool) -> None:
        super().__init__(part, bundle)
        self._is_subagent = is_subagent

    def tell(self, bubble: Record, number: int) -> None:
        """Take in one message."""
        self.at = parse_time(bubble.get("createdAt")) or self.at
        self.model = _model(as_object(bubble.get("modelInfo"))) or self.model
        text = as_text(bubble.get("text"))
        kind = bubble.get("type")
        if kind == _USER:
            if self._is_subagent and text.strip():
                self.add("injected", "agent", text, "subagent_prompt")
            else:
                self.prompt(text)
        elif kind == _AGENT:
            self._answer(bubble, text, number)
        else:
            self.unknown("bubble", bubble)

    def _answer(self, bubble: Record, text: str, number: int) -> None:
        if self.model:
            self.part.note_model(self.model, len(self.part.events))
        tokens = as_object(bubble.get("tokenCount"))
        spent = as_count(tokens.get("inputTokens")), as_count(tokens.get("outputTokens"))
        if any(spent):  # zero is not a count: it was not measured
            name = as_text(bubble.get("bubbleId")) or str(number)
            key = f"{self.part.external_id}:{name}"
            self.spend(
                Usage(key=key, model=self.model, at=self.at, input=spent[0], output=spent[1])
            )
        thought = as_text(as_object(bubble.get("thinking")).get("text"))
        tool = as_object(bubble.get("toolFormerData"))
        if thought:
            self.think(thought)
        if text.strip():
            self.say(text)
        if tool:
            self._call(tool)
        elif not (thought or text.strip()):
            self.ignore("bubble/empty")

    def _call(self, tool: Record) -> None:
        name = as_text(tool.get("name")) or f"tool {tool.get('tool')}"
        call_id = as_text(tool.get("toolCallId"))
        self.call(name, tool.get("params") or tool.get("rawArgs"), call_id)
        result, failed = tool.get("result"), tool.get("status") == "error"
        if result or failed:
            text = result if isinstance(result, str) else compact_json(result)
            self.result(text if result else "", call_id, failed=failed)
