"""mem_context_pack: where a thread or a project stands, in a few hundred or thousand letters."""

from __future__ import annotations

import msgspec

from session_memory.recall.breadth import Breadth, warning
from session_memory.recall.items import ANSWER_BYTES, StateAnswer, fitted, state_answer
from session_memory.recall.material import Freshness, Material, freshness
from session_memory.recall.pack_budget import choose
from session_memory.recall.pack_hash import pack_hash
from session_memory.recall.pack_sections import Sections
from session_memory.recall.pack_selection import Selection, select
from session_memory.recall.pack_stats import PackStats, build_stats
from session_memory.recall.pack_text import KEY_CHARS, Frame, item, render
from session_memory.recall.requests import PackRequest

NARROW = "Narrow before use: mem_session_list, then mem_context_pack with session_id."


class ContextPack(msgspec.Struct, frozen=True):
    """mem_context_pack."""

    project_key: str
    session_id: int | None
    text: str
    stats: PackStats
    operational_state: StateAnswer
    pack_hash: str


class NotModified(msgspec.Struct, frozen=True):
    """mem_context_pack, where the caller has it already (HSH-03)."""

    pack_hash: str
    not_modified: bool = True
    message: str = "The pack you have is current."


def build_pack(material: Material, found: Breadth, request: PackRequest, now: int) -> ContextPack:
    """The pack of a scope; `build_ms` is for the shell to fill in."""
    scope = material.scope
    several = len({one.session for one in material.observations}) > 1
    selection = select(
        material.observations,
        limit=material.pool_limit,
        guard=scope.session is None and several,
    )
    chosen = choose(material.state, request)
    sections = Sections(material, selection, chosen.limits).all()
    fresh = freshness(material, now)
    rendered = render(_frame(material, found, fresh), sections, chosen.max_chars)
    stats = build_stats(material, found, selection, rendered, (chosen, fresh))
    session_id = scope.session.id if scope.session else None
    return ContextPack(
        project_key=scope.project.key,
        session_id=session_id,
        text=rendered.text,
        stats=stats,
        operational_state=_state(material, selection, rendered.text, stats),
        pack_hash=pack_hash(rendered.text, stats, scope.project.key, session_id),
    )


def _state(material: Material, selection: Selection, text: str, stats: PackStats) -> StateAnswer:
    """The state, as much of it as text and stats leave room for."""
    counts = selection.counts
    taken = len(msgspec.json.encode((text, stats)))
    return fitted(lambda limits: state_answer(material.state, limits, counts), ANSWER_BYTES - taken)


def unless_known(pack: ContextPack, known: str | None) -> ContextPack | NotModified:
    """The pack, or only its name where the caller has this very one; names hold their scope."""
    return NotModified(pack.pack_hash) if known == pack.pack_hash else pack


def _frame(material: Material, found: Breadth, fresh: Freshness) -> Frame:
    scope = material.scope
    key = item(scope.project.key, KEY_CHARS)
    whole = scope.session is None
    warned = warning(found, "multi_session_project_scope")
    return Frame(
        title=f"Memory of {key}, " + ("whole project." if whole else "one session."),
        warning=f"Scope warning: {warned.message}" if warned else None,
        narrowing=NARROW if warned else None,
        captured=f"Last captured turn: {fresh.last_captured_turn_at or 'unknown'}.",
    )
