"""Turns the model-visible history of Codex (`response_item`) into events."""

from __future__ import annotations

from collections.abc import Callable

from session_memory.adapters.codex.records import Item
from session_memory.adapters.codex.state import Emitter, Side
from session_memory.adapters.codex.text import (
    command_line,
    content_text,
    injected_label,
    is_media,
    patched_files,
    read_output,
    shortened,
    split_user_text,
)
from session_memory.adapters.common import (
    Json,
    RawEvent,
    as_list,
    as_object,
    as_text,
    classify_tool,
    decode_record,
)
from session_memory.adapters.excerpt import Piece, compact_json, excerpt

Handler = Callable[[Item, Emitter], None]


def response_item(item: Item, out: Emitter) -> None:
    """One item of the conversation as the model sees it."""
    kind = item.type
    handler = ITEMS.get(kind)
    if handler is not None:
        handler(item, out)
    elif kind in _OPAQUE:
        out.ignored[f"response_item/{kind}"] += 1
    else:
        out.opaque(f"response_item/{kind}", kind or "response_item", out.whole())


MEDIA = "media"
"""Kind of a part that is a picture or a sound."""


# --- messages -------------------------------------------------------------------------------------


def _message(item: Item, out: Emitter) -> None:
    if item.role == "assistant":
        _answer(item, out)
    elif item.role == "user":
        _user_message(item, out)
    else:
        for text, kind, _ in _parts(item):
            label = injected_label(text, kind)
            out.add("injected", "harness", shortened(label, text), label)


def _answer(item: Item, out: Emitter) -> None:
    texts = [text for text, _, _ in _parts(item)]
    if not texts:
        out.ignored["empty_text"] += 1
        return
    if as_object(item.metadata).get("compaction_output") is True:
        out.ignored["compaction_output"] += 1  # the row `compacted` has it too
    else:
        say(texts, "item", out)


def say(texts: list[str], side: Side, out: Emitter) -> None:
    """What the assistant said, unless the other of the two forms has been read already."""
    out.state.answered = True
    if out.state.twin(side, "assistant", forms(texts)):
        out.ignored["told_twice"] += 1
        return
    for text in texts:
        out.add("assistant_text", out.speaker, text)


def _user_message(item: Item, out: Emitter) -> None:
    """Provenance, where the log has it, knows who wrote a part; else its words do."""
    pieces: list[Piece] = []
    typed: list[str] = []
    for text, kind, wrote in _parts(item):
        if kind == MEDIA:
            new = [Piece("other", "user", "image", text)]
        elif wrote in ("", "user"):
            new = list(split_user_text(text, typed=wrote == "user"))
        else:
            label = injected_label(text, kind)
            origin = "subagent" if label == "subagent_notification" else "harness"
            new = [Piece("injected", origin, label, shortened(label, text))]
        pieces += new
        if any(piece.kind == "user_prompt" for piece in new):
            typed.append(text)
    if typed and out.state.twin("item", "user", forms(typed)):
        out.ignored["told_twice"] += 1
        pieces = [piece for piece in pieces if piece.kind != "user_prompt"]
    add_pieces(pieces, out)


def add_pieces(pieces: list[Piece], out: Emitter) -> None:
    """Prompts and injections; what an agent asks of its sub-agent is no human's prompt."""
    for piece in pieces:
        if piece.kind == "user_prompt" and out.state.by_agent:
            piece = Piece("injected", "agent", "subagent_prompt", piece.text)
        out.add(piece.kind, piece.origin, piece.text, piece.label)


def _parts(item: Item) -> list[tuple[str, str, str]]:
    """(text, kind, who wrote it) of each part that has text; the last two from 0.166 on."""
    content = item.content
    parts: list[Json] = [content] if isinstance(content, str) else as_list(content)
    tags = as_object(item.tags)
    kinds = as_list(tags.get("content_item_kinds"))
    metas = as_list(tags.get("content_item_metadata"))
    texts: list[tuple[str, str, str]] = []
    for index, part in enumerate(parts):
        if not (text := content_text(part)):
            continue
        kind = as_text(kinds[index]) if index < len(kinds) else ""
        kind = MEDIA if is_media(part) else kind
        wrote = ""
        if index < len(metas):
            wrote = as_text(as_object(as_object(metas[index]).get("provenance")).get("type"))
        texts.append((text, kind, wrote))
    return texts


def forms(texts: list[str]) -> list[str]:
    """The ways one message may be repeated: as a whole or in its parts."""
    return texts if len(texts) < 2 else [*texts, "".join(texts), "\n".join(texts)]


def _reasoning(item: Item, out: Emitter) -> None:
    """Summaries only: the thoughts themselves are encrypted."""
    parts = [*as_list(item.summary), *as_list(item.content)]
    think([text for part in parts if (text := content_text(part))], "item", out)


def think(texts: list[str], side: Side, out: Emitter) -> None:
    """Each paragraph by itself, as older versions write one event for each."""
    out.state.answered = True
    if not texts:
        out.ignored["reasoning/encrypted"] += 1
    for text in texts:
        if out.state.twin(side, "reasoning", [text]):
            out.ignored["told_twice"] += 1
        else:
            out.add("reasoning", out.speaker, text)


def _agent_message(item: Item, out: Emitter) -> None:
    """A message between agents."""
    texts = [text for text, _, _ in _parts(item)]
    if texts:
        out.add("injected", "agent", "\n".join(texts), "agent_message")
    else:
        out.ignored["agent_message/encrypted"] += 1


# --- calls and outputs ----------------------------------------------------------------------------


def call(out: Emitter, tool: str, text: str, call_id: str | None) -> RawEvent:
    """A tool call; its name says what class of action it is."""
    event = out.add("tool_call", out.speaker, text)
    event.tool = tool or None
    event.tool_class = classify_tool(tool)
    event.call_id = call_id
    return event


def _function_call(item: Item, out: Emitter) -> None:
    name, space = item.name or "", item.namespace or ""
    tool = f"{space}__{name}" if space.startswith("mcp__") else name
    text = _argument_text(item.arguments)
    event = call(out, tool, text, _call_id(item))
    out.state.open_call(event.call_id, tool)
    out.state.answered = True
    if event.tool_class not in ("shell", "read", "edit"):
        return
    given = decode_record(text.encode("utf-8", "surrogatepass")) or {}
    if event.tool_class == "shell":
        as_shell(event, given.get("cmd") or given.get("command"))
    else:
        path = as_text(given.get("path")) or as_text(given.get("file_path"))
        patch = as_text(given.get("input")) or as_text(given.get("patch"))
        event.files = patched_files(patch) if patch else (path,) if path else ()


def as_shell(event: RawEvent, command: Json) -> None:
    """The command of a shell call; one that is a patch is an edit, whatever carries it."""
    line = command_line(command)
    if line.lstrip().startswith(("apply_patch", "applypatch")) and "*** Begin Patch" in line:
        event.tool_class, event.files = "edit", patched_files(line)
    else:
        event.command = line or None


def _custom_tool_call(item: Item, out: Emitter) -> None:
    tool = item.name or ""
    text = _argument_text(item.input)
    event = call(out, tool, text, _call_id(item))
    out.state.open_call(event.call_id, tool)
    out.state.answered = True
    if event.tool_class == "edit":
        event.files = patched_files(text)
    elif event.tool_class == "shell":  # a script of calls; the commands in it come as events
        event.tool_class = "other"


def _local_shell_call(item: Item, out: Emitter) -> None:
    action = as_object(item.action)
    event = call(out, "local_shell", compact_json(action), _call_id(item))
    out.state.open_call(event.call_id, "local_shell")
    out.state.answered = True
    as_shell(event, action.get("command"))


def _tool_search_call(item: Item, out: Emitter) -> None:
    event = call(out, "tool_search", _argument_text(item.arguments), _call_id(item))
    out.state.open_call(event.call_id, "tool_search")


def _tool_search_output(item: Item, out: Emitter) -> None:
    """Names only: the descriptions are the same for every search."""
    names = [as_text(as_object(tool).get("name")) for tool in as_list(item.tools)]
    event = out.add("tool_result", "tool", "\n".join(filter(None, names)))
    event.call_id = _call_id(item)
    out.state.calls.pop(event.call_id or "", None)


def _web_search_call(item: Item, out: Emitter) -> None:
    web_search(item.action, item.id or "", "item", out)


def web_search(action: Json, call_id: str, side: Side, out: Emitter) -> None:
    """A search by the provider's own servers; what it found is not in the log."""
    text = compact_json(action)
    if out.state.twin(side, "web", [text]):
        out.ignored["told_twice"] += 1
        return
    call(out, "web_search", text, call_id or None)


def _image_call(item: Item, out: Emitter) -> None:
    text = item.revised_prompt or ""
    call(out, "image_generation", text, item.id or None)


def _output(item: Item, out: Emitter) -> None:
    """An output, with what events said about the end of its call before it came."""
    given = read_output(item.output)
    call_id = _call_id(item)
    event = out.add("tool_result", "tool", given.text, given.label)
    event.call_id = call_id
    event.exit_code, event.is_error = given.exit_code, given.failed
    ended = out.state.calls.pop(call_id, None) if call_id else None
    if ended is None:
        event.tool = item.name or None
        return
    if ended.exit_code is not None:
        event.exit_code = ended.exit_code
    event.is_error = given.failed or ended.failed
    event.label = "denied" if ended.denied else event.label
    event.files = ended.files
    if given.running and call_id:
        out.state.left_running(call_id)


def _call_id(item: Item) -> str | None:
    return item.call_id or item.id or None


def _argument_text(value: Json) -> str:
    return value if isinstance(value, str) else "" if value is None else compact_json(value)


def _compaction(item: Item, out: Emitter) -> None:
    """A summary by the provider's servers: opaque; the row `compacted` has the text."""
    text = as_text(item.summary)
    if text and not out.state.twin("item", "compaction", [""]):
        out.add("compaction", "harness", excerpt(text), "compaction")
    else:
        out.ignored["response_item/compaction"] += 1


ITEMS: dict[str, Handler] = {
    "agent_message": _agent_message,
    "compaction": _compaction,
    "compaction_summary": _compaction,
    "context_compaction": _compaction,
    "custom_tool_call": _custom_tool_call,
    "custom_tool_call_output": _output,
    "function_call": _function_call,
    "function_call_output": _output,
    "image_generation_call": _image_call,
    "local_shell_call": _local_shell_call,
    "local_shell_call_output": _output,
    "message": _message,
    "reasoning": _reasoning,
    "tool_search_call": _tool_search_call,
    "tool_search_output": _tool_search_output,
    "web_search_call": _web_search_call,
}
_OPAQUE = frozenset({"additional_tools", "ghost_snapshot"})
