"""The fields of Claude Code's records that are read; the others are not decoded.

A tool's result stands in its record twice, and the second one alone is a third of a log.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Raw, UnsetType

from session_memory.adapters.common import DEPTH_ERRORS, Json, as_object, decode_record

Count = Annotated[int, msgspec.Meta(ge=0, lt=1 << 53)]


class CacheWrites(msgspec.Struct):
    """How long what was written to the cache is kept."""

    ephemeral_5m_input_tokens: Count | None = None
    ephemeral_1h_input_tokens: Count | None = None


class OutputDetails(msgspec.Struct):
    """What the output was."""

    thinking_tokens: Count | None = None


class Spent(msgspec.Struct):
    """The tokens of a response."""

    input_tokens: Count | None = None
    cache_creation_input_tokens: Count | None = None
    cache_read_input_tokens: Count | None = None
    cache_creation: CacheWrites | None = None
    output_tokens: Count | None = None
    service_tier: Json = None
    speed: Json = None
    output_tokens_details: OutputDetails | None = None


class Message(msgspec.Struct):
    """What the API was sent, or answered."""

    model: str | None = None
    id: str | None = None
    content: Json = None
    usage: Spent | None = None


class ResultFile(msgspec.Struct, rename="camel"):
    """The file that a tool read."""

    file_path: Json = None


class Result(msgspec.Struct, rename="camel"):
    """Small fields of a tool's own result; of the others counts only that they are there."""

    stdout: Raw | UnsetType = UNSET
    stderr: Raw | UnsetType = UNSET
    interrupted: Json = None
    background_task_id: Json = None
    return_code_interpretation: Json = None
    exit_code: Json = UNSET
    persisted_output_path: Json = None
    file_path: Json = None
    file: ResultFile | str | list[Raw] | bool | float | None = None
    url: Raw | UnsetType = UNSET
    code_text: Raw | UnsetType = UNSET
    query: Raw | UnsetType = UNSET
    duration_seconds: Raw | UnsetType = UNSET


class Progress(msgspec.Struct, rename="camel"):
    """What a running tool says."""

    type: str | None = None
    message: Record | str | list[Raw] | None = None
    agent_id: str | None = None


class Record(msgspec.Struct, rename="camel"):
    """One line of a log, its fields about in the order in which they are written."""

    is_sidechain: Json = None
    agent_id: str | None = None
    cwd: str | None = None
    session_id: str | None = None
    version: str | None = None
    git_branch: str | None = None
    agent_name: str | None = None
    team_name: Json = None
    type: str | None = None
    message: Message | str | list[Json] | None = None
    request_id: str | None = None
    uuid: str | None = None
    timestamp: Json = None
    tool_use_result: Result | str | list[Raw] | bool | float | None = None
    entrypoint: str | None = None
    data: Progress | None = None
    attachment: dict[str, Json] | None = None
    is_meta: Json = None
    origin: Json = None
    is_compact_summary: Json = None
    is_visible_in_transcript_only: Json = None
    tool_denial_kind: Json = None
    plan_content: Json = None
    is_api_error_message: Json = None
    forked_from: Json = None
    cost: Json = msgspec.field(name="costUSD", default=None)
    operation: str | None = None
    content: Json = None
    subtype: str | None = None
    compact_metadata: Json = None
    microcompact_metadata: Json = None
    error: Json = None
    retry_attempt: Json = None
    max_retries: Json = None
    hook_errors: Json = None
    hook_additional_context: Json = None
    leaf_uuid: str | None = None
    ai_title: str | None = None
    custom_title: str | None = None
    pr_url: str | None = None
    summary: str | None = None
    fields: dict[str, Json] | None = msgspec.field(name="(all)", default=None)
    """All there is in it, where its type is unknown."""


_NESTED: dict[tuple[type, str], type[msgspec.Struct]] = {
    (Record, "message"): Message,
    (Record, "tool_use_result"): Result,
    (Record, "data"): Progress,
    (Progress, "message"): Record,
    (Result, "file"): ResultFile,
    (Message, "usage"): Spent,
    (Spent, "cache_creation"): CacheWrites,
    (Spent, "output_tokens_details"): OutputDetails,
}
_decode = msgspec.json.Decoder(Record).decode


def read_record(line: bytes, known_types: Set[str]) -> Record | None:
    """The record of a line, with all its fields unless its type is a known one; None for others."""
    try:
        record = _decode(line)
    except DEPTH_ERRORS:
        fields = decode_record(line)
        return None if fields is None else record_of(fields)
    if record.type not in known_types:
        record.fields = decode_record(line)
    return record


def record_of(fields: dict[str, Json]) -> Record:
    """A record of fields that were decoded already."""
    record: Record = _loosely(fields, Record)
    record.fields = fields
    return record


def _loosely(fields: dict[str, Json], kind: type[msgspec.Struct]) -> Any:
    """A struct of those fields that are what they should be: vendors change shapes without notice.

    By way of JSON, because a part that is only skipped has no other form.
    """
    fitting: dict[str, Json] = {}
    for field in msgspec.structs.fields(kind):
        if field.encode_name not in fields:
            continue
        value = fields[field.encode_name]
        if field.type is Any:
            fitting[field.name] = value
            continue
        try:
            encoded = msgspec.json.encode(value)
            fitting[field.name] = msgspec.json.decode(encoded, type=field.type)
        except (*DEPTH_ERRORS, OverflowError, ValueError):
            nested = _NESTED.get((kind, field.name))
            if nested and isinstance(value, dict):
                fitting[field.name] = _loosely(as_object(value), nested)
    return kind(**fitting)
