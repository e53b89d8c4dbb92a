"""Turns one record of a Claude Code conversation into events, block by block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from session_memory.adapters.claude.text import (
    block_text,
    exit_code_of,
    is_denial,
    is_interruption,
    media_placeholder,
    overflow_name,
    split_user_text,
    text_of,
)
from session_memory.adapters.common import (
    Json,
    RawEvent,
    as_list,
    as_object,
    as_text,
    classify_tool,
)
from session_memory.adapters.excerpt import EXCERPT, Piece, compact_json
from session_memory.core.schema import EventKind, Origin

Record = dict[str, Json]


class Emitter:
    """Where the events of the record in hand go, with what they all share."""

    __slots__ = (
        "at",
        "by_agent",
        "count",
        "events",
        "ignored",
        "pos",
        "unknown",
        "usage_key",
        "uuid",
    )

    def __init__(self, ignored: Counter[str]) -> None:
        self.ignored = ignored
        self.unknown: list[str] = []
        self.events: list[RawEvent] = []
        self.at: int | None = None
        self.by_agent = False
        """The other side of this conversation is an agent, so no human typed its user text."""
        self.pos = 0
        self.count = 0
        self.uuid: str | None = None
        self.usage_key: str | None = None

    def begin(self, record: Record, pos: int, at: int | None) -> None:
        """Point at the next record; positions count up from its offset in the file."""
        self.events = []
        self.pos, self.at, self.count = pos, at, 0
        uuid = record.get("uuid")
        self.uuid = uuid if isinstance(uuid, str) else None
        self.usage_key = None

    def add(self, kind: EventKind, origin: Origin, text: str, label: str | None = None) -> RawEvent:
        """Append an event and return it, for the fields only some kinds have."""
        event = RawEvent(
            self.pos + self.count,
            kind,
            origin,
            text,
            self.at,
            usage_key=self.usage_key,
            identity=f"{self.uuid}:{self.count}" if self.uuid else None,
            label=label,
        )
        self.count += 1
        self.events.append(event)
        return event

    def opaque(self, what: str, label: str, value: Json) -> None:
        """Keep what no parser knows: an excerpt to look at, and a count under its name."""
        self.add("other", "harness", compact_json(value, EXCERPT), label)
        self.unknown.append(what)


# --- user records ---------------------------------------------------------------------------------


def user(record: Record, out: Emitter) -> None:
    """A prompt, a tool's result, or text the client wrote in the user's name."""
    message = record.get("message")
    content: Json = as_object(message).get("content") if isinstance(message, dict) else message
    if isinstance(content, str):
        _user_text(record, content, out)
        return
    blocks = as_list(content)
    if not blocks:
        out.unknown.append("user/no_content")
    alone = sum(1 for block in blocks if as_object(block).get("type") == "tool_result") == 1
    for block in blocks:
        fields = as_object(block)
        kind = fields.get("type")
        if kind == "tool_result":
            _tool_result(fields, record if alone else {}, out)
        elif kind == "text" or isinstance(block, str):
            _user_text(record, block_text(block), out)
        elif kind in ("image", "document"):
            origin: Origin = "harness" if record.get("isMeta") else "user"
            out.add("other", origin, media_placeholder(fields), as_text(kind))
        else:
            out.opaque(f"block/{kind}", as_text(kind) or "block", block)


def _user_text(record: Record, text: str, out: Emitter) -> None:
    for piece in split_user_text(text):
        if piece.kind == "user_prompt":
            piece = _by_flags(record, piece, out.by_agent)
        _add_piece(piece, out)


def _by_flags(record: Record, piece: Piece, by_agent: bool) -> Piece:
    """The record's flags know better than its words who wrote a text without any mark."""
    source = as_text(as_object(record.get("origin")).get("kind"))
    if record.get("isCompactSummary"):
        label = "compact_summary"
    elif record.get("isMeta"):
        label = "meta"
    elif record.get("isVisibleInTranscriptOnly"):
        label = "transcript_only"
    elif source not in ("", "human"):
        label = source.replace("-", "_")
    elif by_agent or _in_team(record):
        return Piece("injected", "agent", "subagent_prompt", piece.text)
    elif record.get("planContent"):
        return piece._replace(label="plan")
    else:
        return piece
    return Piece("injected", "harness", label, piece.text)


def _in_team(record: Record) -> bool:
    """Whether a member of a team of agents is spoken to: its lead does that, not the human."""
    member = as_text(record.get("agentName"))
    return bool(record.get("teamName")) and member not in ("", "team-lead")


def _add_piece(piece: Piece, out: Emitter) -> None:
    if not piece.text:
        out.ignored["empty_text"] += 1
        return
    event = out.add(piece.kind, piece.origin, piece.text, piece.label)
    if piece.kind in ("tool_call", "tool_result"):  # a command the human ran with `!`
        event.tool, event.tool_class = "!bash", "shell"
        event.command = piece.text if piece.kind == "tool_call" else None


def _tool_result(block: Record, record: Record, out: Emitter) -> None:
    """The model's view of a result; `toolUseResult` repeats it and only lends its small fields."""
    text = text_of(block.get("content"))
    detail = as_object(record.get("toolUseResult"))
    from_web = ("url" in detail and "codeText" in detail) or (
        "query" in detail and "durationSeconds" in detail
    )
    event = out.add("tool_result", "web" if from_web else "tool", text)
    event.call_id = as_text(block.get("tool_use_id")) or None
    event.is_error = block.get("is_error") is True
    event.exit_code = _exit_code(text, detail, event.is_error)
    path = detail.get("filePath") or as_object(detail.get("file")).get("filePath")
    event.files = (path,) if isinstance(path, str) else ()
    event.overflow = overflow_name(detail.get("persistedOutputPath"), text)
    if record.get("toolDenialKind") or (event.is_error and is_denial(text)):
        event.label = "denied"
    elif event.is_error and is_interruption(text):
        event.label = "interrupted"


def _exit_code(text: str, detail: Record, is_error: bool) -> int | None:
    if is_error:
        return exit_code_of(text)
    stated = detail.get("exitCode")
    if isinstance(stated, int) and not isinstance(stated, bool):
        return stated
    ended = "stdout" in detail and "stderr" in detail and "exitCode" not in detail
    # In the background, stopped, or "No matches found": ended in a way the log gives no number for.
    if any(detail.get(k) for k in ("interrupted", "backgroundTaskId", "returnCodeInterpretation")):
        return None
    return 0 if ended else None


# --- assistant records ----------------------------------------------------------------------------


def assistant(record: Record, out: Emitter) -> None:
    """What the model said, thought and called; one API reply spreads over several records."""
    message = record.get("message")
    content: Json = as_object(message).get("content") if isinstance(message, dict) else message
    if as_object(message).get("model") == "<synthetic>":
        _synthetic(record, text_of(content), out)
        return
    origin: Origin = "subagent" if out.by_agent else "agent"
    for block in [content] if isinstance(content, str) else as_list(content):
        fields = as_object(block)
        kind = as_text(fields.get("type"))
        if kind == "text" or isinstance(block, str):
            if text := block_text(block):
                out.add("assistant_text", origin, text)
        elif kind == "thinking":
            _thinking(as_text(fields.get("thinking")), origin, out)
        elif kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
            _tool_call(fields, record, origin, out)
        elif kind == "redacted_thinking":
            out.ignored[kind] += 1
        elif kind.endswith("_tool_result"):
            _server_result(fields, kind, out)
        elif kind == "fallback":
            out.add("system", "harness", _fallback_text(fields), "model_fallback")
        else:
            out.opaque(f"block/{kind}", kind or "block", block)


def _synthetic(record: Record, text: str, out: Emitter) -> None:
    """Words the client put into the assistant's mouth, most often an API error."""
    if not text:
        return
    if record.get("isApiErrorMessage"):
        out.add("error", "harness", text, "api_error").is_error = True
    else:
        out.add("system", "harness", text, "synthetic")


def _thinking(text: str, origin: Origin, out: Emitter) -> None:
    if text:
        out.add("reasoning", origin, text)
    else:  # encrypted: only its signature is in the log
        out.ignored["thinking_signature"] += 1


def _tool_call(block: Record, record: Record, origin: Origin, out: Emitter) -> None:
    name = as_text(block.get("name")) or None
    given = block.get("input")
    event = out.add("tool_call", origin, "" if given is None else compact_json(given))
    event.tool = name
    event.tool_class = classify_tool(name)
    event.call_id = as_text(block.get("id")) or None
    fields = as_object(given)
    if event.tool_class == "shell":
        event.command = as_text(fields.get("command")) or None
    elif event.tool_class in ("read", "edit"):
        named = (fields.get(key) for key in ("file_path", "notebook_path", "path"))
        event.files = tuple(p for p in named if isinstance(p, str) and p and p != record.get("cwd"))


def _server_result(block: Record, kind: str, out: Emitter) -> None:
    """A result the provider's own servers fetched, so it stands in the assistant's message."""
    content = block.get("content")
    event = out.add("tool_result", "web" if kind.startswith("web_") else "tool", text_of(content))
    event.call_id = as_text(block.get("tool_use_id")) or None
    refused = as_text(as_object(content).get("type")).endswith("_error")
    event.is_error = refused or block.get("is_error") is True


def _fallback_text(block: Record) -> str:
    before = as_text(as_object(block.get("from")).get("model"))
    after = as_text(as_object(block.get("to")).get("model"))
    return f"model fallback: {before or '?'} -> {after or '?'}"


# --- system records -------------------------------------------------------------------------------

_SILENT_SYSTEM = frozenset({"turn_duration", "api_metrics", "file_snapshot"})
_KNOWN_SYSTEM = frozenset(
    {
        "agents_killed",
        "away_summary",
        "bridge_status",
        "informational",
        "memory_saved",
        "model_refusal_fallback",
        "permission_retry",
        "scheduled_task_fire",
    }
)


def system(record: Record, out: Emitter) -> None:
    """What the client says about itself."""
    subtype = as_text(record.get("subtype"))
    text = text_of(record.get("content"))
    if subtype in ("compact_boundary", "microcompact_boundary"):
        out.add("compaction", "harness", _compaction_text(record), subtype)
    elif subtype == "api_error":
        out.add("error", "harness", _api_error_text(record), subtype).is_error = True
    elif subtype == "local_command":
        for piece in split_user_text(text):
            label = piece.label or "local_command_output"
            _add_piece(Piece("injected", "harness", label, piece.text), out)
    elif subtype == "stop_hook_summary":
        _stop_hooks(record, out)
    elif subtype in _SILENT_SYSTEM:
        out.ignored[f"system/{subtype}"] += 1
    else:
        out.add("system", "harness", text, subtype or "system")
        if subtype and subtype not in _KNOWN_SYSTEM:
            out.unknown.append(f"system/{subtype}")


def _compaction_text(record: Record) -> str:
    detail = as_object(record.get("compactMetadata")) or as_object(
        record.get("microcompactMetadata")
    )
    trigger = as_text(detail.get("trigger")) or "unknown"
    return f"{trigger} compaction at {detail.get('preTokens', '?')} tokens"


def _api_error_text(record: Record) -> str:
    error = as_object(record.get("error"))
    nested = as_object(as_object(error.get("error")).get("error"))
    message = error.get("formatted") or error.get("message") or nested.get("message")
    attempt, limit = record.get("retryAttempt"), record.get("maxRetries")
    retry = f" (attempt {attempt} of {limit})" if attempt is not None else ""
    return f"API error: {as_text(message) or as_text(record.get('content')) or 'no detail'}{retry}"


def _stop_hooks(record: Record, out: Emitter) -> None:
    errors = text_of(record.get("hookErrors"))
    added = text_of(record.get("hookAdditionalContext"))
    if errors:
        out.add("system", "harness", errors, "hook_errors").is_error = True
    if added:
        out.add("injected", "harness", added, "hook_feedback")
    if not errors and not added:
        out.ignored["system/stop_hook_summary"] += 1


# --- progress and queue ---------------------------------------------------------------------------

_PROGRESS = frozenset(
    {
        "agent_progress",
        "bash_progress",
        "hook_progress",
        "mcp_progress",
        "powershell_progress",
        "query_update",
        "search_results_received",
        "skill_progress",
        "waiting_for_task",
    }
)


def subagent_message(record: Record) -> Record | None:
    """The message of a sub-agent that its parent's progress record repeats, as its own log has it.

    Some versions write no log for a sub-agent, so this copy may be all there is.
    """
    data = as_object(record.get("data"))
    message, agent = as_object(data.get("message")), as_text(data.get("agentId"))
    if data.get("type") != "agent_progress" or not agent:
        return None
    if message.get("type") not in ("assistant", "user"):
        return None
    shared = {name: record[name] for name in _SHARED if name in record}
    return {**shared, **message, "isSidechain": True, "agentId": agent}


_SHARED = ("cwd", "entrypoint", "gitBranch", "sessionId", "timestamp", "version")
"""What a progress record says for the message in it."""


def progress(record: Record, out: Emitter) -> None:
    """Ticks of a running tool."""
    kind = as_text(as_object(record.get("data")).get("type"))
    if kind in _PROGRESS:
        out.ignored[f"progress/{kind}"] += 1
    else:
        out.unknown.append(f"progress/{kind}")


def queue_operation(record: Record, out: Emitter) -> None:
    """What was typed while the agent was busy; it may come again as a prompt, or never."""
    operation = as_text(record.get("operation"))
    if operation != "enqueue":
        out.ignored[f"queue-operation/{operation}"] += 1
        return
    for piece in split_user_text(text_of(record.get("content"))):
        typed = piece.kind == "user_prompt"
        label = "queued_prompt" if typed else piece.label
        _add_piece(Piece("other", piece.origin, label, piece.text), out)


Handler = Callable[[Record, Emitter], None]
