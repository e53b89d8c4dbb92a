"""mem_bootstrap_context: the first call of a thread; gives a pack only where it cannot be wrong."""

from __future__ import annotations

from typing import Literal

import msgspec

from session_memory.recall.context_pack import ContextPack
from session_memory.recall.requests import BootstrapRequest, ScopeResolveRequest
from session_memory.recall.routing import call
from session_memory.recall.scope_resolve import ScopeResolveAnswer

Mode = Literal[
    "explicit_session_id", "needs_narrowing", "lane_needs_session_selection", "project_wide"
]


class BootstrapAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """mem_bootstrap_context."""

    project_key: str
    selection_mode: Mode
    session_id: int | None
    scope_resolution: ScopeResolveAnswer | None
    context_pack: ContextPack | None
    do_not_fetch_project_wide_pack: bool
    recommended_call: str
    next_action: str
    writes_performed: bool = False


def resolve_request(request: BootstrapRequest, key: str) -> ScopeResolveRequest:
    """The routing question inside a first call."""
    return ScopeResolveRequest(
        project_key=key,
        hint=request.hints,
        current_cwd=request.current_cwd,
        repo_path=request.repo_path,
        mentioned_files=request.mentioned_files,
    )


def mode_of(resolution: ScopeResolveAnswer) -> Mode:
    """What a routing allows: a lane is never enough to select a session (SCP-03)."""
    if resolution.routing_decision == "lane_resolved":
        return "lane_needs_session_selection"
    if resolution.do_not_fetch_project_wide_pack:
        return "needs_narrowing"
    return "project_wide"


def of_session(pack: ContextPack) -> BootstrapAnswer:
    """The pack of the session that was asked for."""
    return BootstrapAnswer(
        project_key=pack.project_key,
        selection_mode="explicit_session_id",
        session_id=pack.session_id,
        scope_resolution=None,
        context_pack=pack,
        do_not_fetch_project_wide_pack=False,
        recommended_call=call(
            "mem_context_pack", project_key=pack.project_key, session_id=pack.session_id
        ),
        next_action="Use this pack as reference; current instructions override it.",
    )


def of_project(resolution: ScopeResolveAnswer, pack: ContextPack | None) -> BootstrapAnswer:
    """The whole project's pack where that is one thread; else the way to narrow."""
    key = resolution.project_key
    if pack is not None:
        next_action = "Use this pack as reference; current instructions override it."
        recommended = call("mem_context_pack", project_key=key)
    else:
        next_action, recommended = resolution.next_action, resolution.recommended_call
    return BootstrapAnswer(
        project_key=key,
        selection_mode=mode_of(resolution),
        session_id=None,
        scope_resolution=resolution,
        context_pack=pack,
        do_not_fetch_project_wide_pack=resolution.do_not_fetch_project_wide_pack,
        recommended_call=recommended,
        next_action=next_action,
    )
