"""Reads and writes JSON-RPC messages, one per line, in plain ASCII."""

from __future__ import annotations

import re
from typing import Any, cast

import msgspec

from session_memory.core.text.safe_text import json_escape

MAX_LINE = 1024 * 1024
"""Bytes of one request; real ones are far shorter."""

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
UNSUPPORTED_VERSION = -32022

Id = str | int
Json = dict[str, Any]

_BEYOND_ASCII = re.compile("[^\x00-\x7f]")


class Request(msgspec.Struct, frozen=True):
    """A message that needs an answer."""

    id: Id
    method: str
    params: Json


class Notification(msgspec.Struct, frozen=True):
    """A message that needs no answer."""

    method: str
    params: Json


class InvalidLine(msgspec.Struct, frozen=True):
    """A line that is not a message; the client gets the reason, the server goes on."""

    code: int
    message: str
    id: Id | None = None


class Ignored(msgspec.Struct, frozen=True):
    """An empty line, or an answer: we never send requests."""


Incoming = Request | Notification | InvalidLine | Ignored


def read_line(line: bytes) -> Incoming:
    """The message in a line."""
    if not line.strip():
        return Ignored()
    if len(line) > MAX_LINE:
        return InvalidLine(INVALID_REQUEST, f"request longer than {MAX_LINE} bytes")
    try:
        message: object = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return InvalidLine(PARSE_ERROR, "not a line of JSON")
    if not isinstance(message, dict):
        return InvalidLine(INVALID_REQUEST, "not a JSON-RPC object; batches are not served")
    return _message(cast("Json", message))


def _message(message: Json) -> Incoming:
    message_id, method = message.get("id"), message.get("method")
    valid_id = (
        message_id
        if isinstance(message_id, str | int) and not isinstance(message_id, bool)
        else None
    )
    if method is None and ("result" in message or "error" in message):
        return Ignored()
    params = message.get("params")
    if params is None:
        params = {}
    if not isinstance(method, str) or message.get("jsonrpc") != "2.0":
        return InvalidLine(INVALID_REQUEST, "not a JSON-RPC 2.0 request", valid_id)
    if not isinstance(params, dict):
        return InvalidLine(INVALID_PARAMS, "params must be an object", valid_id)
    arguments = cast("Json", params)
    if "id" not in message:
        return Notification(method, arguments)
    if valid_id is None:
        return InvalidLine(INVALID_REQUEST, "id must be a string or a whole number")
    return Request(valid_id, method, arguments)


def answer(message_id: Id, result: Json) -> Json:
    """The message that carries a result."""
    return {"jsonrpc": "2.0", "id": message_id, "result": result}


def failure(message_id: Id | None, code: int, message: str, data: Json | None = None) -> Json:
    """The message that carries a protocol error; errors of tools are results (RUN-04)."""
    error: Json = {"code": code, "message": message}
    return {
        "jsonrpc": "2.0",
        "id": message_id,
        "error": error if data is None else {**error, "data": data},
    }


def to_text(value: object) -> str:
    """A value as JSON."""
    return msgspec.json.encode(value).decode("utf-8")


def to_line(message: Json) -> bytes:
    """One line of ASCII; other characters occur only inside strings, where escaping is safe."""
    return _BEYOND_ASCII.sub(json_escape, to_text(message)).encode("ascii") + b"\n"
