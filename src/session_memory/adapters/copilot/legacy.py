"""Copilot's sessions of 2025: one JSON document, a timeline with times or bare chat messages."""

from __future__ import annotations

from session_memory.adapters.common import as_list, as_object, as_text, parse_time
from session_memory.adapters.copilot.state import Emitter, Record
from session_memory.adapters.copilot.tools import add_call, add_result

_QUIET = frozenset({"tool_call_requested", "tool_call_progress"})


def is_document(record: Record) -> bool:
    """True for the whole of an old session."""
    return isinstance(record.get("timeline"), list) or isinstance(record.get("chatMessages"), list)


def add_document(document: Record, out: Emitter) -> None:
    """The timeline where there is one: it says the same as the messages, and when."""
    began = parse_time(document.get("startTime"))
    if began is not None:
        out.part.note("opened_at", began, out.pos)
    if model := as_text(document.get("selectedModel")):
        out.part.note("model", model, out.pos)
    timeline = as_list(document.get("timeline"))
    for row in map(as_object, timeline):
        out.at = parse_time(row.get("timestamp"))
        _timeline_row(row, out)
    if not timeline:
        out.at = None
        for row in map(as_object, as_list(document.get("chatMessages"))):
            _chat_row(row, out)


def _timeline_row(row: Record, out: Emitter) -> None:
    kind, text = as_text(row.get("type")), as_text(row.get("text"))
    if kind == "user":
        out.add("user_prompt", "user", text)
    elif kind == "copilot":
        out.add("assistant_text", out.speaker, text)
    elif kind == "tool_call_completed":
        _completed(row, out)
    elif kind == "error":
        out.add("error", "harness", text, "session_error").is_error = True
    elif kind in ("info", "warning"):
        out.add("system", "harness", text, kind)
    elif kind in _QUIET:
        out.ignored[f"timeline/{kind}"] += 1
    else:
        out.opaque(f"timeline/{kind}", row)


def _completed(row: Record, out: Emitter) -> None:
    """One row is a call and its result."""
    call_id = as_text(row.get("callId")) or as_text(row.get("id"))
    name = as_text(row.get("name")) or as_text(row.get("toolTitle"))
    arguments = row.get("arguments")
    add_call({"toolCallId": call_id, "name": name, "arguments": arguments}, out.speaker, out)
    result = as_object(row.get("result"))
    kind = as_text(result.get("type"))
    said = as_text(result.get("log")) or as_text(result.get("textResultForLlm"))
    data: Record = {"toolCallId": call_id, "result": said}
    if kind not in ("", "success"):
        data |= {"success": False, "error": {"code": kind}}
    add_result(data, out)


def _chat_row(row: Record, out: Emitter) -> None:
    role, text = as_text(row.get("role")), as_text(row.get("content"))
    if role == "user":
        out.add("user_prompt", "user", text)
    elif role == "assistant":
        if text:
            out.add("assistant_text", out.speaker, text)
        for item in map(as_object, as_list(row.get("tool_calls"))):
            function = as_object(item.get("function"))
            call: Record = {"toolCallId": item.get("id"), "name": function.get("name")}
            add_call({**call, "arguments": function.get("arguments")}, out.speaker, out)
    elif role == "tool":
        add_result({"toolCallId": row.get("tool_call_id"), "result": text}, out)
    else:
        out.ignored[f"chat/{role}"] += 1
