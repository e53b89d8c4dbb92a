"""Turns what the Codex client says about a thread (`event_msg` and its own rows) into events."""

from __future__ import annotations

from collections.abc import Callable

from session_memory.adapters.codex.items import (
    add_pieces,
    as_shell,
    call,
    forms,
    say,
    think,
    web_search,
)
from session_memory.adapters.codex.records import ClientEvent, Record, event_of
from session_memory.adapters.codex.state import Emitter, Outcome
from session_memory.adapters.codex.text import content_text, split_user_text
from session_memory.adapters.common import Json, as_list, as_object, as_text
from session_memory.adapters.excerpt import EXCERPT, compact_json

Handler = Callable[[ClientEvent, Emitter], None]


def event_msg(event: ClientEvent, out: Emitter) -> None:
    """One event; most of them tell again what a `response_item` holds."""
    kind = event.type
    if kind == "item_completed":
        _item(as_object(event.item), out)
        return
    handler = _EVENTS.get(kind)
    if handler is not None:
        handler(event, out)
    elif kind in _SILENT or kind.endswith(_SILENT_ENDS):
        out.ignored[f"event_msg/{kind}"] += 1
    else:
        out.opaque(f"event_msg/{kind}", kind or "event_msg", out.whole())


def _item(fields: Record, out: Emitter) -> None:
    """A finished item, as paginated threads write instead of single events."""
    item = event_of(fields)
    kind = item.type
    handler = _FINISHED.get(kind)
    if handler is not None:
        out.hold(fields)
        handler(item, out)
    elif kind in _SILENT_ITEMS:
        out.ignored[f"item_completed/{kind}"] += 1
    else:
        out.opaque(f"item_completed/{kind}", kind or "item_completed", fields)


def compacted(payload: Record, out: Emitter) -> None:
    """The history gave way to a summary; the new history repeats what was there before."""
    if out.state.twin("item", "compaction", [""]):
        out.ignored["told_twice"] += 1
        return
    text = as_text(payload.get("message")) or "context compacted; the summary is encrypted"
    out.add("compaction", "harness", text, "compacted")


def inter_agent(payload: Record, out: Emitter) -> None:
    """A message from one agent to another."""
    content = payload.get("content") or payload.get("message")
    parts: list[Json] = [content] if isinstance(content, str) else as_list(content)
    if texts := [text for part in parts if (text := content_text(part))]:
        out.add("injected", "agent", "\n".join(texts), "agent_message")
    else:
        out.ignored["inter_agent_communication"] += 1


# --- words ----------------------------------------------------------------------------------------


def _user(event: ClientEvent, out: Emitter) -> None:
    _prompt([event.message or ""], out)


def _user_item(item: ClientEvent, out: Emitter) -> None:
    _prompt([content_text(part) for part in as_list(item.content)], out)


def _prompt(texts: list[str], out: Emitter) -> None:
    texts = [text for text in texts if text.strip()]
    if not texts or out.state.twin("event", "user", forms(texts)):
        out.ignored["told_twice" if texts else "empty_text"] += 1
        return
    add_pieces([piece for text in texts for piece in split_user_text(text)], out)


def _agent(event: ClientEvent, out: Emitter) -> None:
    if text := event.message:
        say([text], "event", out)


def _agent_item(item: ClientEvent, out: Emitter) -> None:
    texts = [text for part in as_list(item.content) if (text := content_text(part))]
    if texts:
        say(texts, "event", out)


def _plan_item(item: ClientEvent, out: Emitter) -> None:
    if text := item.text:
        out.add("assistant_text", out.speaker, text, "plan")


def _thought(event: ClientEvent, out: Emitter) -> None:
    if text := event.text:
        think([text], "event", out)


def _reasoning_item(item: ClientEvent, out: Emitter) -> None:
    parts = [*as_list(item.summary_text), *as_list(item.raw_content)]
    if texts := [text for part in parts if (text := content_text(part))]:
        think(texts, "event", out)


def _hook_item(item: ClientEvent, out: Emitter) -> None:
    for part in as_list(item.fragments):
        if (text := content_text(part)) and not out.state.twin("event", "user", [text]):
            out.add("injected", "harness", text, "hook_feedback")


# --- turns and notices ----------------------------------------------------------------------------


def _aborted(event: ClientEvent, out: Emitter) -> None:
    reason = event.reason or "interrupted"
    if reason == "interrupted":
        out.add("system", "user", "turn aborted: interrupted", "interrupted")
    else:
        out.add("system", "harness", f"turn aborted: {reason}", "turn_aborted")


def _complete(event: ClientEvent, out: Emitter) -> None:
    error = as_object(event.error)
    if text := as_text(error.get("message")):
        out.add("error", "harness", text, "turn_error").is_error = True
    else:
        out.ignored["event_msg/task_complete"] += 1


def _error(event: ClientEvent, out: Emitter) -> None:
    text = event.message or compact_json(out.whole(), EXCERPT)
    out.add("error", "harness", text, event.type).is_error = True


def _notice(event: ClientEvent, out: Emitter) -> None:
    """Something the client did: a rollback, a review, an undo, a goal."""
    fields = {name: value for name, value in out.whole().items() if name not in ("type", "turn_id")}
    text = event.message or compact_json(fields, EXCERPT)
    out.add("system", "harness", text, event.type)


def _compaction(event: ClientEvent, out: Emitter) -> None:
    if out.state.twin("event", "compaction", [""]):
        out.ignored["told_twice"] += 1
    else:
        out.add("compaction", "harness", "context compacted", "context_compacted")


# --- ends of calls --------------------------------------------------------------------------------


def _command(event: ClientEvent, out: Emitter) -> None:
    """A command that ended: lends its exit code to the output, or stands for a nested call."""
    code = event.exit_code
    status = event.status
    end = Outcome(
        exit_code=code if type(code) is int else None,
        failed=status in ("failed", "declined") or code not in (None, 0),
        denied=status == "declined",
    )
    text = event.aggregated_output or _printed(event)
    call_id = _id(event)
    if call_id in out.state.running:
        _late(call_id, end, text, out)
    elif not _lent(call_id, end, out):
        as_shell(
            call(out, "exec_command", compact_json(event.command), call_id),
            event.command,
        )
        _result(call_id, end, text, out)


def _late(call_id: str, end: Outcome, text: str, out: Emitter) -> None:
    """The end of a process that outlived its call; a poll that waits for it tells it itself."""
    out.state.running.remove(call_id)
    if any(open_call.tool == "write_stdin" for open_call in out.state.calls.values()):
        out.ignored["told_twice"] += 1
    else:
        _result(call_id, end, text, out)


def _patch(event: ClientEvent, out: Emitter) -> None:
    changes = as_object(event.changes)
    moved = (as_text(as_object(change).get("move_path")) for change in changes.values())
    files = tuple(dict.fromkeys([*changes, *filter(None, moved)]))
    status = event.status
    end = Outcome(
        failed=event.success is False or status in ("failed", "declined"),
        denied=status == "declined",
        files=files,
    )
    call_id = _id(event)
    if not _lent(call_id, end, out):
        call(out, "apply_patch", compact_json(changes), call_id).files = files
        _result(call_id, end, _printed(event), out)


def _mcp_end(event: ClientEvent, out: Emitter) -> None:
    invocation, result = event_of(as_object(event.invocation)), as_object(event.result)
    good = as_object(result.get("Ok"))
    failed = "Err" in result or good.get("isError") is True
    _tool_end(event, invocation, good.get("content") or result.get("Err"), failed, out)


def _mcp_item(item: ClientEvent, out: Emitter) -> None:
    result, error = as_object(item.result), as_object(item.error)
    failed = item.status == "failed" or result.get("isError") is True
    _tool_end(item, item, result.get("content") or error.get("message"), failed or bool(error), out)


def _dynamic_end(event: ClientEvent, out: Emitter) -> None:
    """The answer of a tool that the app around Codex brought along."""
    content = event.content_items or event.content_items_camel or event.error
    _tool_end(event, event, content, event.success is False, out)


def _tool_end(
    event: ClientEvent, invocation: ClientEvent, content: Json, failed: bool, out: Emitter
) -> None:
    call_id, end = _id(event), Outcome(failed=failed)
    if _lent(call_id, end, out):
        return
    tool = invocation.tool or ""
    tool = f"mcp__{invocation.server}__{tool}" if invocation.server else tool
    call(out, tool, compact_json(invocation.arguments), call_id)
    parts: list[Json] = [content] if isinstance(content, str) else as_list(content)
    _result(call_id, end, "\n".join(filter(None, map(content_text, parts))), out)


def _web_end(event: ClientEvent, out: Emitter) -> None:
    web_search(event.action or event.query, _id(event), "event", out)


def _lent(call_id: str, end: Outcome, out: Emitter) -> bool:
    """Keep the end of a call for its output, if that is still to come."""
    waiting = out.state.calls.get(call_id)
    if waiting is None:
        return False
    end.tool = waiting.tool
    out.state.calls[call_id] = end
    out.ignored["told_twice"] += 1
    return True


def _result(call_id: str, end: Outcome, text: str, out: Emitter) -> None:
    event = out.add("tool_result", "tool", text, "denied" if end.denied else None)
    event.call_id = call_id or None
    event.exit_code, event.is_error, event.files = end.exit_code, end.failed, end.files


def _id(event: ClientEvent) -> str:
    return event.call_id or event.call_id_camel or event.id or ""


def _printed(event: ClientEvent) -> str:
    return "\n".join(filter(None, (event.stdout, event.stderr)))


_EVENTS: dict[str, Handler] = {
    "agent_message": _agent,
    "agent_reasoning": _thought,
    "agent_reasoning_raw_content": _thought,
    "context_compacted": _compaction,
    "entered_review_mode": _notice,
    "error": _error,
    "exec_command_end": _command,
    "exited_review_mode": _notice,
    "dynamic_tool_call_response": _dynamic_end,
    "mcp_tool_call_end": _mcp_end,
    "patch_apply_end": _patch,
    "stream_error": _error,
    "task_complete": _complete,
    "thread_goal_updated": _notice,
    "thread_rolled_back": _notice,
    "turn_aborted": _aborted,
    "turn_complete": _complete,
    "undo_completed": _notice,
    "user_message": _user,
    "warning": _notice,
    "web_search_end": _web_end,
}
_FINISHED: dict[str, Handler] = {
    "AgentMessage": _agent_item,
    "CommandExecution": _command,
    "ContextCompaction": _compaction,
    "DynamicToolCall": _mcp_item,
    "EnteredReviewMode": _notice,
    "ExitedReviewMode": _notice,
    "FileChange": _patch,
    "HookPrompt": _hook_item,
    "McpToolCall": _mcp_item,
    "Plan": _plan_item,
    "Reasoning": _reasoning_item,
    "UserMessage": _user_item,
    "WebSearch": _web_end,
}
_SILENT_ITEMS = frozenset(
    {"CollabAgentToolCall", "Extension", "ImageGeneration", "ImageView", "SubAgentActivity"}
)
_SILENT = frozenset(
    {
        "dynamic_tool_call_request",  # the call, and its answer, have it too
        "plan_update",  # the call `update_plan` has it
        "session_configured",
        "sub_agent_activity",
        "task_started",
        "thread_name_updated",
        "thread_settings_applied",
        "token_count",
        "turn_diff",
        "turn_started",
        "view_image_tool_call",
    }
)
_SILENT_ENDS = (
    "_begin",
    "_delta",
    "_approval_request",
    "_spawn_end",
    "_interaction_end",
    "_waiting_end",
    "_close_end",
    "_resume_end",
)  # collab_*: calls with outputs
