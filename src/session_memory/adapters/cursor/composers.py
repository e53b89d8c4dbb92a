"""The store of Cursor's editor: all sessions in one database, `globalStorage/state.vscdb`.

A session is a `composerData` row, which names its messages in order; each message is a `bubbleId`
row. The database can be very large, so rows are looked up by key.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from session_memory.adapters.common import (
    IsKnown,
    Json,
    Normalized,
    SourceFile,
    as_count,
    as_list,
    as_object,
    as_text,
    classify_tool,
    decode_record,
    parse_time,
)
from session_memory.adapters.emit_events import EventEmitter
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
from session_memory.adapters.vscode_places import uri_of
from session_memory.adapters.whole_log import Line, Record, Records
from session_memory.core.schema import ToolClass, Usage

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
_COMPACTION = 22
"""The kind of message that marks where the context was condensed."""
_TOOLS: dict[str, ToolClass] = {
    "run_terminal_command": "shell",
    "ripgrep_raw_search": "search",
    "glob_file_search": "search",
    "file_search": "search",
    "semantic_search_full": "search",
    "list_dir": "read",
    "task": "agent",
}


def discover(root: str, is_known: IsKnown | None = None) -> Iterator[SourceFile]:
    """Every session of the editor."""
    for folder in (root, os.path.join(root, "globalStorage")):
        path = os.path.join(folder, STORE)
        if os.path.lexists(path):
            yield from database_sources(path, _NEEDS, _sessions, is_known)


def _sessions(db: Database) -> Iterator[SessionRows]:
    times = _header_times(db)
    query = f"SELECT {text_of('key')}, octet_length(value) FROM cursorDiskKV WHERE {_BETWEEN}"
    for key, size in list(db.rows(query)):
        name = readable(key)[len(_COMPOSER) :]
        updated = times[name] if name in times else _updated(db, key)
        yield SessionRows(
            id=name,
            changed_at=parse_time(updated),
            mark=(size, updated),
            size=size or 0,
        )


def _header_times(db: Database) -> dict[str, Json]:
    """When each session was changed, where a table of its own says so: then none is opened."""
    if not {"composerId", "lastUpdatedAt"} <= db.columns("composerHeaders"):
        return {}
    query = f"SELECT {text_of('composerId')}, lastUpdatedAt FROM composerHeaders"
    return {readable(name): at for name, at in db.rows(query) if isinstance(at, int)}


def _updated(db: Database, key: bytes) -> Json:
    query = f"SELECT {_UPDATED} FROM cursorDiskKV WHERE key = CAST(? AS TEXT)"
    return next((at for (at,) in db.rows(query, key)), None)


def lines(file: SourceFile, cap: int) -> Iterator[Line]:
    """A session's own record, then its messages in order."""
    return session_lines(file, _NEEDS, _lines, cap)


def _lines(db: Database, session: str, cap: int) -> Iterator[Line]:
    row = _value(db, f"{_COMPOSER}{session}", cap)
    if row is None:
        raise FileNotFoundError(f"{session} is no longer in the database")
    (data,) = row
    composer = decode_record(data) if data is not None else None
    if composer is None:
        yield data
        return
    inline = as_list(composer.pop("conversation", None))
    headers = [as_object(h) for h in as_list(composer.get("fullConversationHeadersOnly"))]
    fields: Record = {name: composer[name] for name in (*_FIELDS, *_CHILDREN) if name in composer}
    yield compact_json({"composer": fields | _header(db, session)}).encode()
    for bubble in inline:
        yield compact_json({"bubble": bubble}).encode()
    for header in headers:
        name = as_text(header.get("bubbleId"))
        bubble = _value(db, f"bubbleId:{session}:{name}", cap)
        if bubble is None:
            yield compact_json({"missing": name}).encode()
        else:
            yield None if bubble[0] is None else b'{"bubble":%b}' % bubble[0]


_FIELDS = ("createdAt", "modelConfig", "name", "subagentInfo", "workspaceIdentifier")
_CHILDREN = ("subComposerIds", "subagentComposerIds")


def _value(db: Database, key: str, cap: int) -> tuple[bytes | None] | None:
    """A row's value, (None,) where it is over the cap; None where there is no such row."""
    query = f"SELECT {capped('value')} FROM cursorDiskKV WHERE key = ? AND value IS NOT NULL"
    row = next(iter(list(db.rows(query, cap, key))), None)
    return None if row is None else (row[0],)


def _header(db: Database, session: str) -> Record:
    """What newer builds keep apart: the folder, and whether the session is a sub-agent."""
    there = db.columns("composerHeaders")
    if not {"composerId", "value"} <= there:
        return {}
    flag = "isSubagent" if "isSubagent" in there else "NULL"
    query = f"SELECT {flag}, {text_of('value')} FROM composerHeaders WHERE composerId = ?"
    for is_subagent, data in list(db.rows(query, session)):
        header = decode_record(data or b"") or {}
        fields = {name: header[name] for name in _FIELDS if header.get(name)}
        return {**fields, "isSubagent": bool(is_subagent)}
    return {}


def emit(source: SourceFile, records: Records, bundle: Normalized) -> None:
    """Read a whole session."""
    if not records or "composer" not in records[0][1]:
        return
    composer = as_object(records[0][1].get("composer"))
    session = source.path.rpartition("#")[2]
    parent = as_text(as_object(composer.get("subagentInfo")).get("parentComposerId")) or None
    is_subagent = composer.get("isSubagent") is True or parent is not None
    part = PartBuilder(session, parent)
    if is_subagent:  # its parent is not always named
        part.note("source_kind", "subagent", 0)
    folder = uri_of(as_object(composer.get("workspaceIdentifier")).get("uri"))
    opened = parse_time(composer.get("createdAt"))
    part.begin(cwd=folder or "", title=as_text(composer.get("name")), opened=opened)
    emitter = BubbleEmitter(part, bundle, is_subagent=is_subagent)
    emitter.at = opened
    emitter.model = _model(as_object(composer.get("modelConfig")))
    for number, (_, record) in enumerate(records[1:]):
        if "missing" in record:
            bundle.missing["message"] += 1
            part.note("missing_part", "message", 0)
        else:
            emitter.emit(as_object(record.get("bubble")), number)
    emitter.finish()
    if part.events:
        children = (as_list(composer.get(name)) for name in _CHILDREN)
        for child in dict.fromkeys(as_text(child) for group in children for child in group):
            if child and child != session:
                link = PartBuilder(child, session)
                link.note("parent", session, 0)
                bundle.sessions.append(link.build())


def _model(config: Record) -> str:
    name = as_text(config.get("modelName"))
    return "" if name == "default" else name


class BubbleEmitter(EventEmitter):
    """Turns the messages of one session into events."""

    model = ""

    def __init__(self, part: PartBuilder, bundle: Normalized, *, is_subagent: bool) -> None:
        super().__init__(part, bundle)
        self._is_subagent = is_subagent

    def emit(self, bubble: Record, number: int) -> None:
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
        thinking = bubble.get("thinking")
        thought = as_text(thinking) or as_text(as_object(thinking).get("text"))
        tool, error = as_object(bubble.get("toolFormerData")), bubble.get("errorDetails")
        if thought:
            self.think(thought)
        if text.strip():
            self.say(text)
        if tool:
            self._call(tool)
        elif error:
            self.fail(error if isinstance(error, str) else compact_json(error), "error_details")
        elif bubble.get("capabilityType") == _COMPACTION:
            self.compact(text)
        elif not (thought or text.strip()):
            self.ignore("bubble/empty")

    def _call(self, tool: Record) -> None:
        name = as_text(tool.get("name")) or f"tool {tool.get('tool')}"
        call_id = as_text(tool.get("toolCallId"))
        plain = name.removesuffix("_v2")
        given = tool.get("params") or tool.get("rawArgs")
        self.call(name, given, call_id, _TOOLS.get(plain) or classify_tool(plain))
        self._result(tool, call_id)

    def _result(self, tool: Record, call_id: str) -> None:
        """No single field says whether a call succeeded: a refused one is `completed`."""
        result, error, status = tool.get("result"), tool.get("error"), as_text(tool.get("status"))
        inner = decode_record(as_text(result).encode("utf-8", "replace"))
        outcome = as_object(result) or inner or {}
        fate = as_text(as_object(tool.get("additionalData")).get("status"))
        refused = outcome.get("rejected") is True or fate == "rejected"
        failed = status in ("error", "cancelled") or fate == "error" or refused
        if not (result or error or failed):
            return
        message = as_text(as_object(error).get("clientVisibleErrorMessage")) or as_text(error)
        text = result if isinstance(result, str) else compact_json(result) if result else message
        event = self.result(text or message or status, call_id, failed=failed)
        code = outcome.get("exitCode")
        if type(code) is int:
            event.exit_code, event.is_error = code, failed or code != 0
        if refused:
            event.label = "denied"
