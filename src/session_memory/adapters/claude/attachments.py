"""Which of the things Claude Code attaches to a prompt are worth keeping, and as what."""

from __future__ import annotations

from session_memory.adapters.claude.events import Emitter, Fields
from session_memory.adapters.claude.records import Record
from session_memory.adapters.claude.text import split_user_text, text_of
from session_memory.adapters.common import Json, as_list, as_object, as_text
from session_memory.adapters.excerpt import EXCERPT, compact_json, excerpt

_HOOKS = frozenset(
    {
        "async_hook_response",
        "hook_additional_context",
        "hook_blocking_error",
        "hook_error_during_execution",
        "hook_non_blocking_error",
        "hook_stopped_continuation",
        "hook_success",
        "hook_system_message",
    }
)
_FILES = frozenset(
    {
        "already_read_file",
        "compact_file_reference",
        "directory",
        "edited_image_file",
        "edited_text_file",
        "file",
        "mcp_resource",
        "nested_memory",
        "opened_file_in_ide",
        "pdf_reference",
        "plan_file_reference",
        "selected_lines_in_ide",
    }
)
_NOTES = frozenset(
    {
        "diagnostics",
        "goal_status",
        "max_turns_reached",
        "relevant_memories",
        "structured_output",
        "task_status",
        "teammate_mailbox",
    }
)
_REPEATS = frozenset(
    {
        "agent_listing_delta",
        "agent_mention",
        "auto_mode",
        "auto_mode_exit",
        "budget_usd",
        "command_permissions",
        "compaction_reminder",
        "context_efficiency",
        "critical_system_reminder",
        "current_session_memory",
        "date",
        "date_change",
        "deferred_tools_delta",
        "deferred_tools_record",
        "dynamic_skill",
        "environment",
        "hook_cancelled",
        "invoked_skills",
        "mcp_instructions_delta",
        "model",
        "output_style",
        "output_token_usage",
        "plan_mode",
        "plan_mode_exit",
        "plan_mode_reentry",
        "prompt_snapshot",
        "remote_session_change",
        "session_context",
        "skill_discovery",
        "skill_listing",
        "task_reminder",
        "team_context",
        "todo",
        "todo_reminder",
        "token_usage",
        "total_tokens_reminder",
        "ultra_effort_enter",
        "ultra_effort_exit",
        "ultrathink_effort",
        "verify_plan_reminder",
    }
)
"""Listings, reminders and copies of the system prompt: the same in every session."""


def attachment(record: Record, out: Emitter) -> None:
    """A queued prompt, a hook's output, a file, or one of many kinds that are only counted."""
    fields = record.attachment or {}
    kind = as_text(fields.get("type"))
    if kind == "queued_command":
        _queued_command(fields, out)
    elif kind in _HOOKS:
        _hook(fields, kind, out)
    elif kind in _FILES:
        event = out.add("injected", "harness", _file_text(fields, kind), kind)
        event.files = _file_names(fields)
    elif kind == "instructions":
        _instructions(as_list(fields.get("files")), out)
    elif kind in _NOTES:
        out.add("injected", "harness", compact_json(fields, EXCERPT), kind)
    elif kind in _REPEATS:
        out.ignored[f"attachment/{kind}"] += 1
    else:
        out.opaque(f"attachment/{kind}", kind or "attachment", fields)


def _queued_command(fields: Fields, out: Emitter) -> None:
    """A prompt typed while the agent was busy, unless a finished task wrote it."""
    mode = as_text(fields.get("commandMode"))
    for piece in split_user_text(text_of(fields.get("prompt"))):
        if piece.kind != "user_prompt":
            out.add(piece.kind, piece.origin, piece.text, piece.label)
        elif mode == "task-notification":
            out.add("injected", "harness", piece.text, "task_notification")
        else:
            out.add("user_prompt", "user", piece.text, "queued_command")


def _hook(fields: Fields, kind: str, out: Emitter) -> None:
    failed = "error" in kind
    error: Json = fields.get("blockingError")
    text = text_of(fields.get("content")) or _hook_answer(as_object(fields.get("response")))
    if failed and not text:
        said = as_object(error).get("blockingError") if isinstance(error, dict) else error
        text = as_text(said) or as_text(fields.get("stderr")) or as_text(fields.get("stdout"))
    if not text.strip():
        out.ignored[f"attachment/{kind}"] += 1
        return
    out.add("injected", "harness", text, kind).is_error = failed


def _hook_answer(response: Fields) -> str:
    """What a hook that answered later said; the rest of its output never reached the model."""
    specific = as_object(response.get("hookSpecificOutput"))
    said = (response.get("systemMessage"), specific.get("additionalContext"))
    return "\n".join(filter(None, map(as_text, said)))


def _file_names(fields: Fields) -> tuple[str, ...]:
    name = fields.get("filename") or fields.get("path") or fields.get("planFilePath")
    return (name,) if isinstance(name, str) else ()


def _file_text(fields: Fields, kind: str) -> str:
    """An excerpt: the file itself is in the repository. Memory files are whole, they are rules."""
    content = fields.get("snippet") or fields.get("content")
    inner = as_object(content)
    if inner:
        content = inner.get("content") or as_object(inner.get("file")).get("content")
    text = text_of(content)
    return text if kind == "nested_memory" else excerpt(text)


def _instructions(files: list[Json], out: Emitter) -> None:
    for file in map(as_object, files):
        event = out.add("injected", "harness", text_of(file.get("content")), "instructions")
        path = file.get("path")
        event.files = (path,) if isinstance(path, str) else ()
