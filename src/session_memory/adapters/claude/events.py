"""Turns one record of a Claude Code conversation into events, block by block."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from msgspec import UNSET

from session_memory.adapters.claude.records import Message, Record, Result, ResultFile
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

Fields = dict[str, Json]


class Emitter:
    """Collects the events of the current record, with what they all share."""

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

    def begin(self, uuid: str | None, pos: int, at: int | None) -> None:
        """Point at the next record; positions count up from its offset in the file."""
        self.events = []
        self.pos, self.at, self.count = pos, at, 0
        self.uuid = uuid
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
    content = _content(record.message)
    if isinstance(content, str):
        _user_text(record, content, out)
        return
    blocks = as_list(content)
    if not blocks:
        out.unknown.append("user/no_content")
    alone = len(blocks) == 1 or (
        sum(1 for block in blocks if as_object(block).get("type") == "tool_result") == 1
    )
    for block in blocks:
        fields = as_object(block)
        kind = fields.get("type")
        if kind == "tool_result":
            _tool_result(fields, record if alone else _NO_RECORD, out)
        elif kind == "text" or isinstance(block, str):
            _user_text(record, block_text(block), out)
        elif kind in ("image", "document"):
            origin: Origin = "harness" if record.is_meta else "user"
            out.add("other", origin, media_placeholder(fields), as_text(kind))
        else:
            out.opaque(f"block/{kind}", as_text(kind) or "block", block)


def _content(message: Message | str | list[Json] | None) -> Json:
    return message.content if isinstance(message, Message) else message


def _user_text(record: Record, text: str, out: Emitter) -> None:
    for piece in split_user_text(text):
        if piece.kind == "user_prompt":
            piece = _by_flags(record, piece, out.by_agent)
        _add_piece(piece, out)


def _by_flags(record: Record, piece: Piece, by_agent: bool) -> Piece:
    """Who wrote a text without any mark: the record's flags are more reliable than its words."""
    source = as_text(as_object(record.origin).get("kind"))
    if record.is_compact_summary:
        label = "compact_summary"
    elif record.is_meta:
        label = "meta"
    elif record.is_visible_in_transcript_only:
        label = "transcript_only"
    elif source not in ("", "human"):
        label = source.replace("-", "_")
    elif by_agent or _in_team(record):
        return Piece("injected", "agent", "subagent_prompt", piece.text)
    elif record.plan_content:
        return piece._replace(label="plan")
    else:
        return piece
    return Piece("injected", "harness", label, piece.text)


def _in_team(record: Record) -> bool:
    """Whether a member of a team of agents is spoken to: its lead does that, not the human."""
    return bool(record.team_name) and (record.agent_name or "") not in ("", "team-lead")


def _add_piece(piece: Piece, out: Emitter) -> None:
    if not piece.text:
        out.ignored["empty_text"] += 1
        return
    event = out.add(piece.kind, piece.origin, piece.text, piece.label)
    if piece.kind in ("tool_call", "tool_result"):  # a command the human ran with `!`
        event.tool, event.tool_class = "!bash", "shell"
        event.command = piece.text if piece.kind == "tool_call" else None


def _tool_result(block: Fields, record: Record, out: Emitter) -> None:
    """The model's view of a result; `toolUseResult` repeats it and only lends its small fields."""
    text = text_of(block.get("content"))
    detail = record.tool_use_result
    if not isinstance(detail, Result):
        detail = _NO_RESULT
    from_web = (detail.url is not UNSET and detail.code_text is not UNSET) or (
        detail.query is not UNSET and detail.duration_seconds is not UNSET
    )
    event = out.add("tool_result", "web" if from_web else "tool", text)
    event.call_id = as_text(block.get("tool_use_id")) or None
    event.is_error = block.get("is_error") is True
    event.exit_code = _exit_code(text, detail, event.is_error)
    path = detail.file_path
    if not path and isinstance(detail.file, ResultFile):
        path = detail.file.file_path
    event.files = (path,) if path and isinstance(path, str) else ()
    event.overflow = overflow_name(detail.persisted_output_path, text)
    if record.tool_denial_kind or (event.is_error and is_denial(text)):
        event.label = "denied"
    elif event.is_error and is_interruption(text):
        event.label = "interrupted"


def _exit_code(text: str, detail: Result, is_error: bool) -> int | None:
    if is_error:
        return exit_code_of(text)
    stated = detail.exit_code
    if isinstance(stated, int) and not isinstance(stated, bool):
        return stated
    # In the background, stopped, or "No matches found": ended in a way the log gives no number for.
    if detail.interrupted or detail.background_task_id or detail.return_code_interpretation:
        return None
    ended = detail.stdout is not UNSET and detail.stderr is not UNSET and stated is UNSET
    return 0 if ended else None


# --- assistant records ----------------------------------------------------------------------------


def assistant(record: Record, out: Emitter) -> None:
    """What the model said, thought and called; one API reply spreads over several records."""
    message = record.message
    content = _content(message)
    if isinstance(message, Message) and message.model == "<synthetic>":
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
    if record.is_api_error_message:
        out.add("error", "harness", text, "api_error").is_error = True
    else:
        out.add("system", "harness", text, "synthetic")


def _thinking(text: str, origin: Origin, out: Emitter) -> None:
    if text:
        out.add("reasoning", origin, text)
    else:  # encrypted: only its signature is in the log
        out.ignored["thinking_signature"] += 1


def _tool_call(block: Fields, record: Record, origin: Origin, out: Emitter) -> None:
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
        named = (fields.get("file_path"), fields.get("notebook_path"), fields.get("path"))
        event.files = tuple([p for p in named if isinstance(p, str) and p and p != record.cwd])


def _server_result(block: Fields, kind: str, out: Emitter) -> None:
    """A result the provider's own servers fetched, so it stands in the assistant's message."""
    content = block.get("content")
    event = out.add("tool_result", "web" if kind.startswith("web_") else "tool", text_of(content))
    event.call_id = as_text(block.get("tool_use_id")) or None
    refused = as_text(as_object(content).get("type")).endswith("_error")
    event.is_error = refused or block.get("is_error") is True


def _fallback_text(block: Fields) -> str:
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
    subtype = record.subtype or ""
    text = text_of(record.content)
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
    detail = as_object(record.compact_metadata) or as_object(record.microcompact_metadata)
    trigger = as_text(detail.get("trigger")) or "unknown"
    return f"{trigger} compaction at {detail.get('preTokens', '?')} tokens"


def _api_error_text(record: Record) -> str:
    error = as_object(record.error)
    nested = as_object(as_object(error.get("error")).get("error"))
    message = error.get("formatted") or error.get("message") or nested.get("message")
    attempt, limit = record.retry_attempt, record.max_retries
    retry = f" (attempt {attempt} of {limit})" if attempt is not None else ""
    return f"API error: {as_text(message) or as_text(record.content) or 'no detail'}{retry}"


def _stop_hooks(record: Record, out: Emitter) -> None:
    errors = text_of(record.hook_errors)
    added = text_of(record.hook_additional_context)
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
    data = record.data
    if data is None or data.type != "agent_progress" or not data.agent_id:
        return None
    message = data.message
    if not isinstance(message, Record) or message.type not in ("assistant", "user"):
        return None
    for name in _SHARED:
        if getattr(message, name) is None:
            setattr(message, name, getattr(record, name))
    message.is_sidechain, message.agent_id = True, data.agent_id
    return message


_SHARED = ("cwd", "entrypoint", "git_branch", "session_id", "timestamp", "version")
"""What a progress record says for the message in it."""


def progress(record: Record, out: Emitter) -> None:
    """Ticks of a running tool."""
    kind = (record.data and record.data.type) or ""
    if kind in _PROGRESS:
        out.ignored[f"progress/{kind}"] += 1
    else:
        out.unknown.append(f"progress/{kind}")


def queue_operation(record: Record, out: Emitter) -> None:
    """What was typed while the agent was busy; it may come again as a prompt, or never."""
    operation = record.operation or ""
    if operation != "enqueue":
        out.ignored[f"queue-operation/{operation}"] += 1
        return
    for piece in split_user_text(text_of(record.content)):
        typed = piece.kind == "user_prompt"
        label = "queued_prompt" if typed else piece.label
        _add_piece(Piece("other", piece.origin, label, piece.text), out)


Handler = Callable[[Record, Emitter], None]
_NO_RECORD, _NO_RESULT = Record(), Result()
