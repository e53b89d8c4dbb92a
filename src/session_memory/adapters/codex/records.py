"""The fields of Codex's rows that are read; the others are not even decoded.

The header of a thread repeats the client's instructions and tools: a fifth of the bytes of a log.
"""

from __future__ import annotations

from typing import TypedDict, TypeVar, cast

import msgspec

from session_memory.adapters.common import DEPTH_ERRORS, Json, as_object

Record = dict[str, Json]


class Item(msgspec.Struct, gc=False):  # decoded values cannot form cycles
    """An item of the conversation as the model sees it: the fields of all its kinds."""

    type: str = ""
    id: str | None = None
    role: str | None = None
    name: str | None = None
    namespace: str | None = None
    arguments: Json = None
    input: Json = None
    call_id: str | None = None
    output: Json = None
    summary: Json = None
    content: Json = None
    tags: Json = msgspec.field(name="internal_chat_message_metadata_passthrough", default=None)
    action: Json = None
    tools: Json = None
    revised_prompt: str | None = None
    metadata: Json = msgspec.field(name="_metadata", default=None)
    """What stands around the item in its row."""


class ClientEvent(msgspec.Struct, gc=False):
    """What the client says of a thread, or a finished item in it: the fields of all their kinds."""

    type: str = ""
    info: Json = None
    message: str | None = None
    text: str | None = None
    turn_id: str | None = None
    started_at: Json = None
    item: Json = None
    id: str | None = None
    call_id: str | None = None
    call_id_camel: str | None = msgspec.field(name="callId", default=None)
    stdout: str | None = None
    stderr: str | None = None
    aggregated_output: str | None = None
    command: Json = None
    exit_code: Json = None
    success: Json = None
    changes: Json = None
    status: str | None = None
    server: str | None = None
    tool: str | None = None
    arguments: Json = None
    invocation: Json = None
    result: Json = None
    error: Json = None
    content: Json = None
    content_items: Json = None
    content_items_camel: Json = msgspec.field(name="contentItems", default=None)
    summary_text: Json = None
    raw_content: Json = None
    fragments: Json = None
    query: Json = None
    action: Json = None
    reason: str | None = None
    thread_name: str | None = None
    thread_settings: Json = None


class Header(TypedDict, total=False):
    """What a thread says of itself as a whole."""

    id: Json
    session_id: Json
    parent_thread_id: Json
    forked_from_id: Json
    history_base: Json
    subagent_history_start_ordinal: Json
    timestamp: Json
    cwd: Json
    originator: Json
    cli_version: Json
    source: Json
    thread_source: Json
    agent_nickname: Json
    agent_role: Json
    agent_type: Json
    git: Json


class Settings(TypedDict, total=False):
    """What a turn runs with, and when it began."""

    turn_id: Json
    started_at: Json
    cwd: Json
    model: Json
    service_tier: Json


class Row(msgspec.Struct, kw_only=True, tag_field="type", gc=False):
    """One line of a rollout file: when it was written, and its number where it has one."""

    timestamp: Json = None
    ordinal: Json = None
    metadata: Json = None


class ItemRow(Row, tag="response_item"):
    """A row with an item of the conversation."""

    payload: Item


class EventRow(Row, tag="event_msg"):
    """A row with something that the client says."""

    payload: ClientEvent


class HeaderRow(Row, tag="session_meta"):
    """A row with the header of a thread."""

    payload: Header


class TurnRow(Row, tag="turn_context"):
    """A row with the settings of a turn."""

    payload: Settings


class OtherRow(Row):
    """A row of any other kind, with all there is in it."""

    kind: str
    payload: Record


_decode = msgspec.json.Decoder(ItemRow | EventRow | HeaderRow | TurnRow).decode


def read_row(line: bytes) -> Row | None:
    """The row of a line; None for rows of other kinds, of another form, and for what is no row."""
    try:
        return _decode(line)
    except DEPTH_ERRORS:
        return None


def row_of(record: Record) -> Row:
    """The row of a record that was decoded already."""
    kind, payload = record["type"], whole_payload(record)
    row: Row
    if kind == "response_item":
        row = ItemRow(payload=item_of(payload))
    elif kind == "event_msg":
        row = EventRow(payload=event_of(payload))
    elif kind == "session_meta":
        row = HeaderRow(payload=cast("Header", payload))
    elif kind == "turn_context":
        row = TurnRow(payload=cast("Settings", payload))
    else:
        row = OtherRow(kind=kind, payload=payload)
    row.timestamp, row.ordinal = record.get("timestamp"), record.get("ordinal")
    row.metadata = record.get("metadata")
    return row


def whole_payload(record: Record) -> Record:
    """All that is in a row, with what stands around it."""
    payload, metadata = as_object(record["payload"]), record.get("metadata")
    if isinstance(metadata, dict) and record["type"] in ("response_item", "event_msg"):
        payload["_metadata"] = metadata
    return payload


def item_of(fields: Record) -> Item:
    """An item of fields that were decoded already."""
    return _loosely(fields, Item)


def event_of(fields: Record) -> ClientEvent:
    """An event, or a finished item, of fields that were decoded already."""
    return _loosely(fields, ClientEvent)


Fields = TypeVar("Fields", Item, ClientEvent)


def _loosely(fields: Record, kind: type[Fields]) -> Fields:
    """A struct of the fields that have the expected type: vendors change their formats."""
    try:
        return msgspec.convert(fields, kind)
    except msgspec.ValidationError:
        fitting = {
            field.name: value
            for field in msgspec.structs.fields(kind)
            if (value := fields.get(field.encode_name)) is not None
            and (field.type is Json or isinstance(value, str))
        }
        return kind(**fitting)
