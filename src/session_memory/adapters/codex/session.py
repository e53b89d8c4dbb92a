"""What Codex says about a thread as a whole: where it ran, on which model, who started it."""

from __future__ import annotations

from itertools import pairwise
from typing import cast

from session_memory.adapters.codex.files import is_revert
from session_memory.adapters.codex.records import ClientEvent, Header, Settings
from session_memory.adapters.codex.state import ReaderState
from session_memory.adapters.common import Json, as_object, as_text, parse_time
from session_memory.adapters.gather import PartBuilder
from session_memory.core.pricing import special_mode
from session_memory.core.schema import SourceKind

_INTERNAL = frozenset({"guardian", "memory_consolidation", "memories"})
_EXEC = frozenset({"exec", "mcp"})
SETTINGS = frozenset({"thread_name_updated", "thread_settings_applied"})
"""Events that say something about the thread, as each `turn_context` does."""


def note_session(
    part: PartBuilder, header: Header, state: ReaderState, path: str, pos: int
) -> None:
    """Read a thread's own header; instructions and tool lists in it are the same every time."""
    kind = source_kind(header)
    state.by_agent = kind == "subagent"
    parent = _parent(header) if kind in ("subagent", "internal") else None
    if parent is not None:
        state.lineage.parent = part.parent = parent
    state.version = as_text(header.get("cli_version")) or state.version
    part.note("source_kind", kind, pos)
    names = (header.get("agent_nickname"), header.get("agent_role") or header.get("agent_type"))
    git = as_object(header.get("git"))
    for name, value in (
        ("cwd", header.get("cwd")),
        ("entrypoint", header.get("originator")),
        ("client_version", header.get("cli_version")),
        ("branch", git.get("branch")),
        ("commit", git.get("commit_hash")),
        ("remote", git.get("repository_url")),
        ("label", " / ".join(filter(None, map(as_text, names)))),
    ):
        if text := as_text(value):
            part.note(name, text, pos)
    made_at = parse_time(header.get("timestamp"))
    if made_at is not None:
        part.note("opened_at", made_at, pos)
        if "originator" not in header:  # 2025: no line has a time but this one
            part.note_time(made_at, pos)
    _note_history(part, header, state, path, pos)


def _note_history(
    part: PartBuilder, header: Header, state: ReaderState, path: str, pos: int
) -> None:
    """A fork points at its parent's history, or begins with a copy of it."""
    base = as_object(header.get("history_base"))
    origin = as_text(header.get("forked_from_id"))
    pointed = as_text(base.get("thread_id"))
    if not origin and pointed != part.external_id and not is_revert(path):
        origin = pointed
    if origin:
        part.note("forked_from", origin, pos)
    if base and state.totals is not None and not any(state.totals):
        state.totals = None  # they go on from the parent's, which stand in the parent's file
    lineage = state.lineage
    source = origin or (part.parent or "")
    if not base and source and source not in lineage.others and lineage.owner == part.external_id:
        lineage.add(source, None)
        if not origin:  # a sub-agent may or may not have been given the history of its parent
            lineage.owner = part.external_id
    first = header.get("subagent_history_start_ordinal")
    lineage.own_from = first if type(first) is int else 0


def note_settings(part: PartBuilder, fields: Settings, state: ReaderState, pos: int) -> None:
    """Model and working directory change from turn to turn."""
    if model := as_text(fields.get("model")):
        state.model = model
        part.note("model", model, pos)
    if "service_tier" in fields:
        tier = special_mode(fields["service_tier"])
        state.mode = "priority" if tier == "fast" else tier  # Codex's name for that service tier
    if cwd := as_text(fields.get("cwd")):
        part.note("cwd", cwd, pos)


def note_event(part: PartBuilder, event: ClientEvent, state: ReaderState, pos: int) -> None:
    """New settings, which are always whole, or a name; both may come at any time."""
    if event.type == "thread_settings_applied":
        fields = {"service_tier": None, **as_object(event.thread_settings)}
        note_settings(part, cast("Settings", fields), state, pos)
    elif event.type == "thread_name_updated":
        part.note("title.custom", event.thread_name or "", pos)


def source_kind(header: Header) -> SourceKind:
    """Who started a thread."""
    source, thread = header.get("source"), as_text(header.get("thread_source"))
    inner = as_object(source)
    agent: Json = inner.get("subagent")
    words = {thread, as_text(agent), as_text(as_object(agent).get("other"))}
    if "internal" in inner or words & _INTERNAL or _in_memories(header):
        return "internal"
    if agent is not None or thread == "subagent" or header.get("parent_thread_id"):
        return "subagent"
    return "exec" if as_text(source) in _EXEC else "interactive"


def _in_memories(header: Header) -> bool:
    """Codex's own consolidation works inside its memory folder."""
    parts = as_text(header.get("cwd")).replace("\\", "/").split("/")
    return any(
        home == ".codex" and below in ("memories", "memories_v2") for home, below in pairwise(parts)
    )


def _parent(header: Header) -> str | None:
    spawn = as_object(
        as_object(as_object(header.get("source")).get("subagent")).get("thread_spawn")
    )
    root = as_text(header.get("session_id"))
    named = as_text(header.get("parent_thread_id")) or as_text(spawn.get("parent_thread_id"))
    return next((each for each in (named, root) if each and each != header.get("id")), None)
