"""mem_bootstrap_context: the first call of a thread; gives a pack only if it is the right one."""

from __future__ import annotations

from typing import Literal

import msgspec

from session_memory.recall.context import RecallContext
from session_memory.recall.context_pack import ContextPack, scope_pack
from session_memory.recall.requests import BootstrapRequest, PackRequest, ScopeResolveRequest
from session_memory.recall.routing import suggested_call
from session_memory.recall.scope import open_scope
from session_memory.recall.scope_resolve import ScopeResolveAnswer, resolve_hint

SelectionMode = Literal[
    "explicit_session_id", "needs_narrowing", "lane_needs_session_selection", "project_wide"
]


class BootstrapAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """mem_bootstrap_context."""

    project_key: str
    selection_mode: SelectionMode
    session_id: int | None
    scope_resolution: ScopeResolveAnswer | None
    context_pack: ContextPack | None
    do_not_fetch_project_wide_pack: bool
    recommended_call: str
    next_action: str
    writes_performed: bool = False


_USE_PACK = "Use this pack as reference; current instructions override it."


def bootstrap_context(context: RecallContext, request: BootstrapRequest) -> BootstrapAnswer:
    """mem_bootstrap_context: the pack of the named session; else of the project if it is one
    thread; else the way to narrow."""
    scope = open_scope(context.store, request.project_key, request.session_id)
    pack_request = PackRequest(budget=request.budget)
    key = scope.project.key
    if scope.session is not None:
        pack = scope_pack(context, scope, pack_request)
        return BootstrapAnswer(
            project_key=key,
            selection_mode="explicit_session_id",
            session_id=pack.session_id,
            scope_resolution=None,
            context_pack=pack,
            do_not_fetch_project_wide_pack=False,
            recommended_call=suggested_call(
                "mem_context_pack", project_key=key, session_id=pack.session_id
            ),
            next_action=_USE_PACK,
        )
    resolution = resolve_hint(context, scope, _resolve_request(request, key))
    mode = _selection_mode(resolution)
    whole = mode == "project_wide"
    return BootstrapAnswer(
        project_key=key,
        selection_mode=mode,
        session_id=None,
        scope_resolution=resolution,
        context_pack=scope_pack(context, scope, pack_request) if whole else None,
        do_not_fetch_project_wide_pack=resolution.do_not_fetch_project_wide_pack,
        recommended_call=suggested_call("mem_context_pack", project_key=key)
        if whole
        else resolution.recommended_call,
        next_action=_USE_PACK if whole else resolution.next_action,
    )


def _resolve_request(request: BootstrapRequest, key: str) -> ScopeResolveRequest:
    return ScopeResolveRequest(
        project_key=key,
        hint=request.merged_hint,
        current_cwd=request.current_cwd,
        repo_path=request.repo_path,
        mentioned_files=request.mentioned_files,
    )


def _selection_mode(resolution: ScopeResolveAnswer) -> SelectionMode:
    """What a routing allows: a lane is never enough to select a session (SCP-03)."""
    if resolution.routing_decision == "lane_resolved":
        return "lane_needs_session_selection"
    if resolution.do_not_fetch_project_wide_pack:
        return "needs_narrowing"
    return "project_wide"
