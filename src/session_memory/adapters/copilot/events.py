"""Turns the records of a Copilot CLI session into events."""

from __future__ import annotations

from collections.abc import Callable

from session_memory.adapters.common import as_count, as_list, as_object, as_text, parse_time
from session_memory.adapters.copilot.files import CHECKPOINTS
from session_memory.adapters.copilot.legacy import add_document
from session_memory.adapters.copilot.state import Emitter, Record
from session_memory.adapters.copilot.tools import add_call, add_result
from session_memory.adapters.copilot.usage import (
    compaction_usage,
    record_usage,
    running_usage,
    shutdown_usages,
)
from session_memory.adapters.excerpt import EXCERPT, compact_json, mark_of

Handler = Callable[[Record, Emitter], None]

_HEADS = (
    ("<system_notification>", "system_notification"),
    ("<system_reminder>", "system_reminder"),
    ("<system-reminder>", "system_reminder"),
    ("<skill-context", "skill"),
    ("<summary>", "compact_summary"),
)
_WORDS = (
    *("message", "summary", "content", "description"),
    *("agentDescription", "agentDisplayName", "agentName", "name"),
)
"""Fields in which a record says what it has to say, best first."""
_UNATTENDED = "non-interactive mode"
"""Words of the system prompt that a session started with `-p` gets."""


# --- who and where --------------------------------------------------------------------------------


def note_context(data: Record, out: Emitter) -> None:
    """Where the session runs, said at its start, when it is resumed and when it moves."""
    context = as_object(data.get("context")) or data
    for name, key in (("cwd", "cwd"), ("branch", "branch"), ("commit", "headCommit")):
        if value := as_text(context.get(key)):
            out.part.note(name, value, out.pos)
    if root := as_text(context.get("gitRoot")):
        out.part.note("git_root", root, out.pos)
    if name := as_text(context.get("repository")):
        host = as_text(context.get("repositoryHost")) or "github.com"
        out.part.note("remote", f"https://{host}/{name}", out.pos)
    out.state.cwd = as_text(context.get("cwd")) or out.state.cwd
    note_model(as_text(data.get("selectedModel")), out)


def note_model(model: str, out: Emitter) -> None:
    """The model from here on."""
    if model:
        out.part.note("model", model, out.pos)
        if not out.by_agent:
            out.state.model = model


def _start(data: Record, out: Emitter) -> None:
    if version := as_text(data.get("copilotVersion")):
        out.state.version = version
        out.part.note("client_version", version, out.pos)
    out.state.began = parse_time(data.get("startTime"))
    origin = as_text(data.get("sessionId"))
    if origin and origin != out.state.session:  # a history copied from another session
        out.part.note("forked_from", origin, out.pos)
    out.state.origin = origin
    note_context(data, out)
    out.ignored["session.start"] += 1


def _imported(data: Record, out: Emitter) -> None:
    """A session of the oldest layout, taken over whole."""
    add_document(as_object(data.get("legacySession")), out)


def _resume(data: Record, out: Emitter) -> None:
    note_context(data, out)
    out.add("system", "harness", as_text(data.get("resumeTime")), "resume")


def _moved(data: Record, out: Emitter) -> None:
    note_context(data, out)
    out.ignored["session.context_changed"] += 1


def _model_change(data: Record, out: Emitter) -> None:
    note_model(as_text(data.get("newModel")), out)
    out.ignored["session.model_change"] += 1


def _title(data: Record, out: Emitter) -> None:
    if title := as_text(data.get("title")):
        out.part.note("title.ai", title, out.pos)
    out.ignored["session.title_changed"] += 1


def _system_prompt(data: Record, out: Emitter) -> None:
    """The client's own text, the same every time; but it shows whether a user is present."""
    if not out.by_agent:
        unattended = _UNATTENDED in as_text(data.get("content"))
        out.part.note("source_kind", "exec" if unattended else "interactive", out.pos)
    out.ignored["system.message"] += 1


# --- the conversation -----------------------------------------------------------------------------


def _user(data: Record, out: Emitter) -> None:
    """`content` is what was typed; `transformedContent` has the client's additions in it."""
    text, source = as_text(data.get("content")), as_text(data.get("source"))
    if not text:
        out.ignored["empty_text"] += 1
        return
    label = next((label for head, label in _HEADS if text.startswith(head)), "")
    if out.by_agent or source.startswith("agent-"):
        event = out.add("injected", "agent", text, "subagent_prompt")
    elif source not in ("", "user") or label:
        label = "command" if source.startswith("command-") else source or label
        event = out.add("injected", "harness", text, label)
    else:
        event = out.add("user_prompt", "user", text)
    paths = (as_text(as_object(item).get("path")) for item in as_list(data.get("attachments")))
    event.files = tuple(filter(None, paths))


def _answer(data: Record, out: Emitter) -> None:
    """What the model thought, said and asked tools for."""
    state = out.state
    note_model(as_text(data.get("model")), out)
    thought = as_text(data.get("reasoningText"))
    if thought:
        _think(thought, out)
    elif data.get("reasoningOpaque"):
        out.ignored["reasoning/encrypted"] += 1
    if text := as_text(data.get("content")):
        out.add("assistant_text", out.speaker, text)
    for request in as_list(data.get("toolRequests")):
        add_call(as_object(request), out.speaker, out)
    _count_output(data, out)
    if not out.events and not thought:
        out.ignored["empty_text"] += 1
    elif out.events and state.spent and state.spent_call == as_text(data.get("apiCallId")):
        out.events[0].usage_key = state.spent


def _count_output(data: Record, out: Emitter) -> None:
    state, stated = out.state, as_count(data.get("outputTokens"))
    model = as_text(data.get("model")) or state.model
    if state.recorded or state.began is None or not (stated and model):
        return
    state.written[model] = state.written.get(model, 0) + stated
    key = f"{state.origin or state.session}:{state.began}"
    usage = running_usage(state.written, model, key, out.at)
    out.main.spend(usage)
    if out.events and out.part is out.main:
        out.events[0].usage_key = usage.key


def _reasoning(data: Record, out: Emitter) -> None:
    text = as_text(data.get("content")) or as_text(data.get("reasoning"))
    if text:
        _think(text, out)
    else:
        out.ignored["reasoning/encrypted"] += 1


def _think(text: str, out: Emitter) -> None:
    """A thought may come by itself and with its answer, in either order; it becomes one event."""
    text_mark = mark_of(text)
    if text_mark == out.state.thought:
        out.state.thought = ""
        out.ignored["told_twice"] += 1
    else:
        out.add("reasoning", out.speaker, text)
        out.state.thought = text_mark


def _execution(data: Record, out: Emitter) -> None:
    """In most versions the answer that requested a call holds it already."""
    if as_text(data.get("toolCallId")) in out.state.calls:
        out.ignored["tool.execution_start"] += 1
    else:
        add_call(data, out.speaker, out)


def _by_hand(data: Record, out: Emitter) -> None:
    add_call(data, "user", out)


def _permission(data: Record, out: Emitter) -> None:
    if as_text(as_object(data.get("result")).get("kind")).startswith("denied"):
        out.state.deny(as_text(data.get("toolCallId")))
    out.ignored["permission.completed"] += 1


def _notification(data: Record, out: Emitter) -> None:
    """News the client gives the model, such as the end of a command in the background."""
    detail = as_object(data.get("kind"))
    label = as_text(detail.get("type")) or "system_notification"
    event = out.add("injected", "harness", as_text(data.get("content")), label)
    code = detail.get("exitCode")
    event.exit_code = code if type(code) is int else None
    event.is_error = event.exit_code not in (None, 0)


def _skill(data: Record, out: Emitter) -> None:
    out.add("injected", "harness", as_text(data.get("content")) or _words(data), "skill")


def _abort(data: Record, out: Emitter) -> None:
    out.add("system", "harness", as_text(data.get("reason")) or "abort", "interrupted")


# --- the client about itself ----------------------------------------------------------------------


def _words(data: Record) -> str:
    for key in _WORDS:
        if text := as_text(data.get(key)):
            return text
    return compact_json(data, EXCERPT) if data else ""


def _news(label: str) -> Handler:
    def handle(data: Record, out: Emitter) -> None:
        out.add("system", "harness", _words(data), label)

    return handle


def _failure(label: str) -> Handler:
    def handle(data: Record, out: Emitter) -> None:
        said = as_text(data.get("errorMessage")) or as_text(data.get("error")) or _words(data)
        out.add("error", "harness", said, label).is_error = True

    return handle


def _hook_end(data: Record, out: Emitter) -> None:
    """Hooks that ran; only what they said to the model or failed at is worth keeping."""
    name = as_text(data.get("hookType"))
    if given := as_text(as_object(data.get("output")).get("additionalContext")):
        out.add("injected", "harness", given, "hook_context")
    if data.get("success") is False:
        error = as_text(as_object(data.get("error")).get("message")) or as_text(data.get("error"))
        out.add("system", "harness", f"{name}: {error}", "hook_errors").is_error = True
    out.ignored["hook.end"] += 1


def _compacted(data: Record, out: Emitter) -> None:
    """The context was condensed; old versions leave the summary in a file of its own."""
    if data.get("success") is False:
        _failure("compaction_failed")(data, out)
        return
    name = as_text(data.get("checkpointPath")).replace("\\", "/").rpartition("/")[2]
    checkpoint = out.side_files.get(f"{CHECKPOINTS}/{name}", b"").decode("utf-8", "replace")
    said = as_text(data.get("summaryContent")) or checkpoint
    event = out.add("compaction", "harness", said, "compaction")
    # Without records the totals at the end are all there is, and they may hold this already.
    if out.state.recorded:
        name = f"{out.part.external_id}:{out.at}"
        usage = compaction_usage(data, name, out.at, out.state.model)
        if usage is not None:
            out.part.spend(usage)
            event.usage_key = usage.key


def _truncated(data: Record, out: Emitter) -> None:
    count = data.get("messagesRemovedDuringTruncation")
    out.add("compaction", "harness", f"{count} messages removed", "truncation")


def _spent(data: Record, out: Emitter) -> None:
    out.state.recorded = True
    fields = as_object(data.get("usage")) or data
    name = f"{out.part.external_id}:{out.at}:{out.pos}"
    usage = record_usage(fields, name, out.at, by_agent=out.by_agent)
    if usage is not None:
        out.part.spend(usage)
        out.state.spent, out.state.spent_call = usage.key, as_text(fields.get("apiCallId"))
        note_model(usage.model, out)
    out.ignored["usage_record"] += 1


def _shutdown(data: Record, out: Emitter) -> None:
    if data.get("shutdownType") == "error":
        _failure("shutdown")({"message": data.get("errorReason")}, out)
    if out.state.recorded:
        out.ignored["session.shutdown/told_twice"] += 1
        return
    for usage in shutdown_usages(data, out.state.origin or out.state.session, out.at):
        out.part.spend(usage)
        note_model(usage.model, out)
    out.ignored["session.shutdown"] += 1


HANDLERS: dict[str, Handler] = {
    "abort": _abort,
    "assistant.message": _answer,
    "assistant.reasoning": _reasoning,
    "assistant.usage": _spent,
    "hook.end": _hook_end,
    "model.call_failure": _failure("api_error"),
    "permission.completed": _permission,
    "session.compaction_complete": _compacted,
    "session.context_changed": _moved,
    "session.custom_notification": _news("notification"),
    "session.error": _failure("session_error"),
    "session.handoff": _news("handoff"),
    "session.import_legacy": _imported,
    "session.info": _news("info"),
    "session.model_change": _model_change,
    "session.resume": _resume,
    "session.shutdown": _shutdown,
    "session.snapshot_rewind": _news("rewind"),
    "session.start": _start,
    "session.task_complete": _news("task_complete"),
    "session.title_changed": _title,
    "session.truncation": _truncated,
    "session.usage_record": _spent,
    "session.warning": _news("warning"),
    "skill.invoked": _skill,
    "subagent.completed": _news("subagent_completed"),
    "subagent.failed": _failure("subagent_failed"),
    "subagent.started": _news("subagent_started"),
    "system.message": _system_prompt,
    "system.notification": _notification,
    "tool.execution_complete": add_result,
    "tool.execution_start": _execution,
    "tool.user_requested": _by_hand,
    "user.message": _user,
}
