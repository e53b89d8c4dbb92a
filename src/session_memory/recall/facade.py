"""`Recall`: one method for each mem_ tool, used alike by the MCP server and the command line.

Every answer is a function of what is stored, the request and the time. Nothing is written but the
record of a completion check, and that not in read-only mode (SCP-13, OPS-06).
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from session_memory.clock import Clock
from session_memory.recall import bootstrap_context, provenance, scope_resolve
from session_memory.recall import search as searching
from session_memory.recall.bootstrap_context import BootstrapAnswer
from session_memory.recall.breadth import Breadth, breadth, source_ids
from session_memory.recall.completion_check import CompletionAnswer, check, closure_of
from session_memory.recall.context_pack import ContextPack, NotModified, build_pack, unless_known
from session_memory.recall.event_search import Nearness
from session_memory.recall.items import fitted
from session_memory.recall.material import Material, gather
from session_memory.recall.open_work import OpenWorkAnswer, open_work
from session_memory.recall.pack_sync import SyncPlan, plan_sync, seal_of, write
from session_memory.recall.project_brief import BriefAnswer, Kept, brief
from session_memory.recall.provenance import ObservationAnswer, ProvenanceAnswer
from session_memory.recall.recent_changes import ChangesAnswer, compare, recent_changes
from session_memory.recall.requests import (
    BootstrapRequest,
    PackRequest,
    ScopeRequest,
    ScopeResolveRequest,
    SearchRequest,
    SessionListRequest,
)
from session_memory.recall.scope import Scope, find_project, open_scope
from session_memory.recall.scope_guard import ScopeGuardAnswer, scope_guard
from session_memory.recall.scope_resolve import ScopeResolveAnswer
from session_memory.recall.search import SearchAnswer
from session_memory.recall.session_list import SessionListAnswer, describe, overfetch, wanted
from session_memory.recall.vectors import open_vectors
from session_memory.settings import Recall as RecallSettings
from session_memory.store.port import Store
from session_memory.store.scopes import ContextSync


class Recall:
    """Answers about what is stored."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        read_only: bool = False,
        settings: RecallSettings | None = None,
    ) -> None:
        self._store = store
        self._clock = clock
        self._read_only = read_only
        self._nearness = _nearness(settings) if settings and settings.vectors else None

    def session_list(self, request: SessionListRequest) -> SessionListAnswer:
        """mem_session_list: every conversation of the project, also those captured elsewhere."""
        project = find_project(self._store.projects(), request.project_key)
        lines = [line for line in self._store.scopes.lines(project.id) if not line.parent]
        ahead = [line.id for line in lines[: overfetch(request.count)]]
        found = wanted(request, project, lines, self._store.scopes.counts(ahead))
        counts = self._store.scopes.counts([line.id for line in found])
        items = tuple(describe(line, project, counts.get(line.id)) for line in found)
        return SessionListAnswer(items, len(items), project.key)

    def scope_resolve(self, request: ScopeResolveRequest) -> ScopeResolveAnswer:
        """mem_scope_resolve."""
        return self._resolved(open_scope(self._store, request.project_key), request)

    def bootstrap_context(self, request: BootstrapRequest) -> BootstrapAnswer:
        """mem_bootstrap_context."""
        scope = open_scope(self._store, request.project_key, request.session_id)
        wish = PackRequest(budget=request.budget)
        if scope.session is not None:
            return bootstrap_context.of_session(self._pack(scope, wish))
        asked = bootstrap_context.resolve_request(request, scope.project.key)
        resolution = self._resolved(scope, asked)
        whole = bootstrap_context.mode_of(resolution) == "project_wide"
        return bootstrap_context.of_project(resolution, self._pack(scope, wish) if whole else None)

    def context_pack(self, request: PackRequest) -> ContextPack | NotModified:
        """mem_context_pack."""
        scope = open_scope(self._store, request.project_key, request.session_id)
        return unless_known(self._pack(scope, request), request.known_pack_hash)

    def sync(
        self,
        request: PackRequest,
        path: str,
        *,
        dry_run: bool = False,
        tell: Callable[[SyncPlan], None] | None = None,
    ) -> ContextSync:
        """Write the pack between its lines in a file, or say why not; kept either way (DIS-04).

        `tell` hears what is going to be written.
        """
        scope = open_scope(self._store, request.project_key, request.session_id)
        seal = seal_of(self._store.tag_key)
        plan = plan_sync(self._pack(scope, request), path, seal)
        record = plan.record(self._clock())
        if tell is not None:
            tell(plan)
        if not dry_run:
            write(plan)
            self._store.syncs.record(scope.project.id, record)
        return record

    def project_brief(self, request: ScopeRequest) -> BriefAnswer:
        """mem_project_brief."""
        material = self._material(request)
        scope = material.scope
        session = scope.session.id if scope.session else None
        kept = Kept(
            tuple(self._store.syncs.all(scope.project.id)),
            tuple(self._store.closures.all(scope.project.id, session)),
            self._store.scopes.totals(scope.ids),
            self._store.scopes.turns(scope.ids),
        )
        return brief(material, self._breadth(scope), kept, self._clock())

    def open_work(self, request: ScopeRequest) -> OpenWorkAnswer:
        """mem_open_work."""
        material = self._material(request)
        return fitted(lambda limits: open_work(material, limits))

    def completion_check(self, request: ScopeRequest) -> CompletionAnswer:
        """mem_completion_check; that somebody asked is recorded, unless this is read-only."""
        material = self._material(request)
        if not self._read_only:
            closure = closure_of(material, self._clock())
            self._store.closures.record(material.scope.project.id, closure)
        return fitted(lambda limits: check(material, limits))

    def scope_guard(self, request: ScopeRequest) -> ScopeGuardAnswer:
        """mem_scope_guard."""
        material = self._material(request)
        found, now = self._breadth(material.scope), self._clock()
        return fitted(lambda limits: scope_guard(material, found, limits, now))

    def recent_changes(self, request: ScopeRequest) -> ChangesAnswer:
        """mem_recent_changes."""
        material = self._material(request)
        compared = compare(material, self._store.syncs.all(material.scope.project.id))
        return fitted(lambda limits: recent_changes(material, compared, limits))

    def search(self, request: SearchRequest) -> SearchAnswer:
        """mem_search."""
        return searching.search(self._store, request, self._nearness)

    def recent(self, request: SearchRequest) -> SearchAnswer:
        """mem_recent."""
        return searching.recent(self._store, request)

    def get(self, observation_id: str) -> ObservationAnswer:
        """mem_get."""
        return provenance.get(self._store, observation_id)

    def provenance(self, observation_id: str) -> ProvenanceAnswer:
        """mem_provenance."""
        return provenance.provenance(self._store, observation_id)

    def revision(self) -> str:
        """Differs whenever an answer may differ: what a cache of answers is keyed by."""
        return self._store.scopes.revision()

    def _material(self, request: ScopeRequest) -> Material:
        scope = open_scope(self._store, request.project_key, request.session_id)
        return gather(self._store, scope)

    def _breadth(self, scope: Scope) -> Breadth:
        return breadth(scope, self._store.scopes.counts(source_ids(scope)))

    def _pack(self, scope: Scope, request: PackRequest) -> ContextPack:
        started = self._clock()
        material = gather(self._store, scope)
        pack = build_pack(material, self._breadth(scope), request, started)
        took = max(0, self._clock() - started)
        stats = msgspec.structs.replace(pack.stats, build_ms=took)
        return msgspec.structs.replace(pack, stats=stats)

    def _resolved(self, scope: Scope, request: ScopeResolveRequest) -> ScopeResolveAnswer:
        found = scope_resolve.routed(scope, request)
        shown = [one.line.id for one in scope_resolve.shown_candidates(found, request.count)]
        return scope_resolve.answer(scope, request, found, self._store.scopes.counts(shown))


def _nearness(settings: RecallSettings) -> Nearness:
    return Nearness(open_vectors(settings.vectors), settings.vector_weight)
