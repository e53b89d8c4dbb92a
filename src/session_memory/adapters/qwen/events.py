"""Turns one record of a Qwen Code session into events, part by part."""

from __future__ import annotations

from collections.abc import Callable

from session_memory.adapters.claude.events import Emitter
from session_memory.adapters.common import Json, RawEvent, as_list, as_object, as_text
from session_memory.adapters.excerpt import Piece
from session_memory.adapters.gemini.text import (
    media_of,
    parts_of,
    response_text,
    text_of,
    user_pieces,
)
from session_memory.adapters.gemini.tools import fill_call, fill_result
from session_memory.core.schema import EventKind, Origin

Record = dict[str, Json]
Handler = Callable[[Record, Emitter], None]

_HUMAN = frozenset({"", "real_user"})
"""Values of `provenance` under which a human may have typed; older builds have none."""
_TYPED_LATE = "mid_turn_user_message"


def user(record: Record, out: Emitter) -> None:
    """A prompt, or text the client wrote in the user's name."""
    typed = as_text(as_object(record.get("systemPayload")).get("displayText"))
    label = _label(record)
    if typed:
        _user_text(typed, label, out)
    for part in map(as_object, parts_of(as_object(record.get("message")).get("content"))):
        _user_part(part, "", label, out)  # older builds
    for part in map(as_object, parts_of(as_object(record.get("message")).get("parts"))):
        _user_part(part, typed, label, out)


def _label(record: Record) -> str | None:
    """Why no human typed a user record, in the vendor's word; None where one did."""
    subtype, said = as_text(record.get("subtype")), as_text(record.get("provenance"))
    if subtype and subtype != _TYPED_LATE:
        return subtype
    if said not in _HUMAN:
        return said
    return "external_input" if record.get("externalInputKind") else None


def _user_part(part: Record, typed: str, label: str | None, out: Emitter) -> None:
    text = part.get("text")
    if "functionResponse" in part:
        _result(as_object(part["functionResponse"]), {}, out)
    elif (media := media_of(part)) is not None:
        out.add("other", "harness" if label else "user", media, "media")
    elif not isinstance(text, str):
        out.opaque(f"part/{next(iter(part), 'empty')}", "part", part)
    elif text == typed or not text.strip():
        out.ignored["display_copy" if text.strip() else "empty_text"] += 1
    elif typed:  # what the client made of it: files it names, what a hook added
        out.add("injected", "harness", text, "expanded_prompt")
    else:
        _user_text(text, label, out)


def _user_text(text: str, label: str | None, out: Emitter) -> None:
    for piece in user_pieces(text, by_agent=out.by_agent):
        if label is not None and piece.kind == "user_prompt":
            piece = Piece("injected", "harness", label, piece.text)
        if piece.label == "compact_summary":
            out.add("compaction", "harness", "context compressed", "compress")
        out.add(piece.kind, piece.origin, piece.text, piece.label)


def assistant(record: Record, out: Emitter) -> None:
    """What the model said, thought and called."""
    origin: Origin = "subagent" if out.by_agent else "agent"
    for part in map(as_object, parts_of(as_object(record.get("message")).get("parts"))):
        text = part.get("text")
        if "functionCall" in part:
            call = as_object(part["functionCall"])
            event = out.add("tool_call", origin, "")
            call_id = as_text(call.get("id"))
            fill_call(event, as_text(call.get("name")), call.get("args"), call_id)
        elif (media := media_of(part)) is not None:
            out.add("other", origin, media, "media")
        elif isinstance(text, str):
            kind: EventKind = "reasoning" if part.get("thought") else "assistant_text"
            if text.strip():
                out.add(kind, origin, text)
        elif "thoughtSignature" in part or "thought" in part:
            out.ignored["thinking_signature"] += 1
        else:
            out.opaque(f"part/{next(iter(part), 'empty')}", "part", part)


def tool_result(record: Record, out: Emitter) -> None:
    """What a tool gave back; `toolCallResult` repeats it and only lends its small fields."""
    detail = as_object(record.get("toolCallResult"))
    parts = list(map(as_object, parts_of(as_object(record.get("message")).get("parts"))))
    for part in parts:
        if "functionResponse" in part:
            _result(as_object(part["functionResponse"]), detail, out)
        elif (media := media_of(part)) is not None:
            out.add("other", "tool", media, "media")
        elif text := as_text(part.get("text")):
            out.add("other", "tool", text, "tool_text")
    if not parts:  # stopped before it gave anything back
        event = out.add("tool_result", "tool", as_text(detail.get("resultDisplay")))
        event.call_id = as_text(detail.get("callId")) or None
        fill_result(event, "", as_text(detail.get("status")), None)


def _result(response: Record, detail: Record, out: Emitter) -> RawEvent:
    answer = as_object(response.get("response"))
    event = out.add("tool_result", "tool", response_text(answer))
    event.call_id = as_text(response.get("id")) or as_text(detail.get("callId")) or None
    status = as_text(detail.get("status")) or ("error" if "error" in answer else "success")
    fill_result(event, as_text(response.get("name")), status, detail.get("resultDisplay"))
    if detail.get("errorType") == "execution_denied":
        event.label = "denied"
    return event


# --- system records -------------------------------------------------------------------------------

_SILENT = frozenset(
    {
        "agent_bootstrap",  # the parent's history a second time
        "agent_session_ready",
        "attribution_snapshot",
        "branch_checkpoint",
        "file_history_snapshot",
        "goal_state",
        "goal_turn_end",
        "omni_recall",
        "session_approval_mode",
        "session_artifact_event",
        "session_artifact_snapshot",
        "session_execution_engine",
        "session_model",
        "session_notes",
        "session_source",
        "session_sources_snapshot",
        "turn_result",  # prompt and answer of a turn a second time
        "user_text_elements",
    }
)
_NOTICES = frozenset(
    {"agent_launch_prompt", "background_task_completed", "cron", "goal_runtime", "notification"}
)


def system(record: Record, out: Emitter) -> None:
    """What the client says about itself."""
    subtype = as_text(record.get("subtype"))
    payload = as_object(record.get("systemPayload"))
    handler = _SYSTEM.get(subtype)
    if handler is not None:
        handler(payload, out)
    elif subtype in _SILENT:
        out.ignored[f"system/{subtype}"] += 1
    elif subtype in _NOTICES or subtype == _TYPED_LATE:
        said = as_text(payload.get("displayText"))
        text = said or text_of(as_object(record.get("message")).get("parts"))
        _user_text(text, None if subtype == _TYPED_LATE else subtype, out)
    else:
        out.opaque(f"system/{subtype or 'no_subtype'}", subtype or "system", record)


def _compression(payload: Record, out: Emitter) -> None:
    info = as_object(payload.get("info"))
    trigger = as_text(info.get("triggerReason")) or "unknown"
    before, after = info.get("originalTokenCount", "?"), info.get("newTokenCount", "?")
    text = f"{trigger} compaction from {before} to {after} tokens"
    out.add("compaction", "harness", text, "chat_compression")
    for turn in map(as_object, as_list(payload.get("compressedHistory"))):
        if turn.get("role") == "user" and (summary := text_of(turn.get("parts"))):
            out.add("injected", "harness", summary, "compact_summary")
            return  # turns after the summary are the kept end of the conversation


def _slash_command(payload: Record, out: Emitter) -> None:
    if payload.get("phase") != "result":
        if line := as_text(payload.get("rawCommand")):
            out.add("injected", "harness", line, "command")
        return
    items = map(as_object, as_list(payload.get("outputHistoryItems")))
    if text := "\n".join(filter(None, (as_text(item.get("text")) for item in items))):
        out.add("injected", "harness", text, "local_command_output")
    else:
        out.ignored["system/slash_command"] += 1


def _at_command(payload: Record, out: Emitter) -> None:
    read = tuple(path for path in as_list(payload.get("filesRead")) if isinstance(path, str))
    event = out.add("system", "harness", as_text(payload.get("message")), "at_command")
    event.files = read
    event.is_error = payload.get("status") == "error"


def _telemetry(payload: Record, out: Emitter) -> None:
    """Calls and responses stand in records of their own; of errors this is the only word."""
    event = as_object(payload.get("uiEvent"))
    name = as_text(event.get("event.name")).partition(".")[2]
    if name in ("api_response", "tool_call"):
        out.ignored[f"ui_telemetry/{name}"] += 1
    elif name == "api_error":
        said = as_text(event.get("error_message")) or as_text(event.get("error"))
        text = f"API error: {said or 'no detail'}"
        out.add("error", "harness", text, "api_error").is_error = True
    else:
        out.opaque(f"ui_telemetry/{name}", "ui_telemetry", event)


def _rewind(payload: Record, out: Emitter) -> None:
    out.add("system", "harness", f"rewound {payload.get('truncatedCount', '?')} items", "rewind")


def _retry(payload: Record, out: Emitter) -> None:
    out.add("system", "harness", f"attempt {payload.get('attempt', '?')}", "agent_retry")


_SYSTEM: dict[str, Handler] = {
    "agent_retry": _retry,
    "at_command": _at_command,
    "chat_compression": _compression,
    "rewind": _rewind,
    "slash_command": _slash_command,
    "ui_telemetry": _telemetry,
}
