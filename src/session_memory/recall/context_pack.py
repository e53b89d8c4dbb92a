"""mem_context_pack: where a session or project stands, in a few hundred or thousand characters."""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from session_memory.recall.breadth import Breadth, measure_breadth, scope_warning
from session_memory.recall.context import RecallContext
from session_memory.recall.items import StateAnswer, largest_that_fits, state_answer
from session_memory.recall.material import Freshness, Material, freshness, read_material
from session_memory.recall.pack_budget import choose_budget
from session_memory.recall.pack_facts import read_facts
from session_memory.recall.pack_sections import Sections
from session_memory.recall.pack_selection import Selection, select
from session_memory.recall.pack_stats import PackStats, build_stats
from session_memory.recall.pack_text import KEY_CHARS, Frame, render, safe_line
from session_memory.recall.requests import ANSWER_BYTES, PackRequest
from session_memory.recall.scope import Scope, open_scope

NARROW = "Narrow before use: mem_session_list, then mem_context_pack with session_id."
_NOT_HASHED = ("build_ms", "memory_age_seconds", "operational_memory_age_seconds")


class ContextPack(msgspec.Struct, frozen=True):
    """mem_context_pack."""

    project_key: str
    session_id: int | None
    text: str
    stats: PackStats
    operational_state: StateAnswer
    pack_hash: str


class NotModified(msgspec.Struct, frozen=True):
    """mem_context_pack, where the caller already has the current pack (HSH-03)."""

    pack_hash: str
    not_modified: bool = True
    message: str = "The pack you have is current."


def context_pack(context: RecallContext, request: PackRequest) -> ContextPack | NotModified:
    """mem_context_pack: the pack, or only its hash where the caller already has it."""
    scope = open_scope(context.store, request.project_key, request.session_id)
    pack = scope_pack(context, scope, request)
    is_known = request.known_pack_hash == pack.pack_hash
    return NotModified(pack.pack_hash) if is_known else pack


def scope_pack(context: RecallContext, scope: Scope, request: PackRequest) -> ContextPack:
    """The pack of a scope, with the time it took to build."""
    started = context.clock()
    material = read_material(context.store, scope)
    material = msgspec.structs.replace(material, facts=read_facts(context.store, scope))
    pack = build_pack(material, measure_breadth(context.store, scope), request, started)
    took = max(0, context.clock() - started)
    stats = msgspec.structs.replace(pack.stats, build_ms=took)
    return msgspec.structs.replace(pack, stats=stats)


def build_pack(material: Material, breadth: Breadth, request: PackRequest, now: int) -> ContextPack:
    """The pack of a scope; `build_ms` is measured by the caller."""
    scope = material.scope
    several = len({observation.session for observation in material.observations}) > 1
    selection = select(
        material.observations,
        limit=material.pool_limit,
        guard=scope.session is None and several,
    )
    budget = choose_budget(material.state, request)
    sections = Sections(material, selection, budget.limits).all()
    fresh = freshness(material, now)
    frame = _frame(material, breadth, fresh)
    if not sections:
        frame = msgspec.structs.replace(frame, narrowing=_why_empty(scope))
    rendered = render(frame, sections, budget.max_chars)
    stats = build_stats(material, breadth, selection, rendered, budget=budget, fresh=fresh)
    session_id = scope.session.id if scope.session else None
    return ContextPack(
        project_key=scope.project.key,
        session_id=session_id,
        text=rendered.text,
        stats=stats,
        operational_state=_state(material, selection, rendered.text, stats),
        pack_hash=pack_hash(rendered.text, stats, scope.project.key, session_id),
    )


def pack_hash(text: str, stats: PackStats, project_key: str, session_id: int | None) -> str:
    """SHA-256 over text, stats and scope, without age and build time: equal for equal content."""
    fields: dict[str, Any] = msgspec.to_builtins(stats)
    hashed = {name: value for name, value in fields.items() if name not in _NOT_HASHED}
    content = {"text": text, "stats": hashed, "project_key": project_key, "session_id": session_id}
    return hashlib.sha256(msgspec.json.encode(content, order="deterministic")).hexdigest()


def _state(material: Material, selection: Selection, text: str, stats: PackStats) -> StateAnswer:
    """As much of the state as text and stats leave room for."""
    counts = selection.counts
    taken = len(msgspec.json.encode((text, stats)))
    return largest_that_fits(
        lambda limits: state_answer(material.state, limits, counts), ANSWER_BYTES - taken
    )


def _why_empty(scope: Scope) -> str:
    if not scope.captured:
        return "Nothing to tell: no session of a person; sub-agents count to who started them."
    return "Nothing to tell: no session here proves a check, a rule or open work."


def _frame(material: Material, breadth: Breadth, fresh: Freshness) -> Frame:
    scope = material.scope
    key = safe_line(scope.project.key, KEY_CHARS)
    whole = scope.session is None
    warning = scope_warning(breadth, "multi_session_project_scope")
    return Frame(
        title=f"Memory of {key}, " + ("whole project." if whole else "one session."),
        warning=f"Scope warning: {warning.message}" if warning else None,
        narrowing=NARROW if warning else None,
        captured=f"Last captured turn: {fresh.last_captured_turn_at or 'unknown'}.",
    )
