"""One line of the wire: what a client said, and how an answer is written in plain ASCII."""

from __future__ import annotations

import re
from typing import Any, cast

import msgspec

MAX_LINE = 1024 * 1024
"""Bytes of one request. The longest argument is a search of a few words."""

INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
UNSUPPORTED_VERSION = -32022

Id = str | int
Json = dict[str, Any]

_BEYOND_ASCII = re.compile("[^\x00-\x7f]")


class Request(msgspec.Struct, frozen=True):
    """Something that wants an answer."""

    id: Id
    method: str
    params: Json


class Notice(msgspec.Struct, frozen=True):
    """Something that wants none."""

    method: str
    params: Json


class Bad(msgspec.Struct, frozen=True):
    """A line that is no message; the reason goes back, the server lives on."""

    code: int
    message: str
    id: Id | None = None


class Ignored(msgspec.Struct, frozen=True):
    """An empty line, or an answer to a question that we never ask."""


Incoming = Request | Notice | Bad | Ignored


def read_line(line: bytes) -> Incoming:
    """What one line says."""
    if not line.strip():
        return Ignored()
    if len(line) > MAX_LINE:
        return Bad(INVALID_REQUEST, f"request longer than {MAX_LINE} bytes")
    try:
        message: object = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # The code is the one that clients of this contract know (RUN-04).
        return Bad(INTERNAL_ERROR, "not a line of JSON")
    if not isinstance(message, dict):
        return Bad(INVALID_REQUEST, "not a JSON-RPC object; batches are not served")
    return _message(cast("Json", message))


def _message(message: Json) -> Incoming:
    number, method = message.get("id"), message.get("method")
    known = number if isinstance(number, str | int) and not isinstance(number, bool) else None
    if method is None and ("result" in message or "error" in message):
        return Ignored()
    params = message.get("params")
    if params is None:
        params = {}
    if not isinstance(method, str) or message.get("jsonrpc") != "2.0":
        return Bad(INVALID_REQUEST, "not a JSON-RPC 2.0 request", known)
    if not isinstance(params, dict):
        return Bad(INVALID_PARAMS, "params must be an object", known)
    given = cast("Json", params)
    if "id" not in message:
        return Notice(method, given)
    if known is None:
        return Bad(INVALID_REQUEST, "id must be a string or a whole number")
    return Request(known, method, given)


def answer(number: Id, result: Json) -> Json:
    """A result."""
    return {"jsonrpc": "2.0", "id": number, "result": result}


def failure(number: Id | None, code: int, message: str, data: Json | None = None) -> Json:
    """An error of the protocol; errors of tools are results (RUN-04)."""
    error: Json = {"code": code, "message": message}
    return {
        "jsonrpc": "2.0",
        "id": number,
        "error": error if data is None else {**error, "data": data},
    }


def to_text(value: object) -> str:
    """JSON, readable as it is."""
    return msgspec.json.encode(value).decode("utf-8")


def to_line(message: Json) -> bytes:
    """One line of ASCII; what lies beyond stands inside strings only, so escaping it is safe."""
    return _BEYOND_ASCII.sub(_escape, to_text(message)).encode("ascii") + b"\n"


def _escape(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
