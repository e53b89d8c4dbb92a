"""What open work and a pack do not show of a scope, each with the reason."""

from __future__ import annotations

import msgspec

from session_memory.clock import iso
from session_memory.recall.context import RecallContext
from session_memory.recall.material import requested_material
from session_memory.recall.observations import shown_observations
from session_memory.recall.pack_facts import read_facts
from session_memory.recall.pack_text import safe_line
from session_memory.recall.requests import ScopeRequest
from session_memory.store.port import ObservationQuery

_LIMIT = 40
_CHARS = 160


class LeftOut(msgspec.Struct, frozen=True):
    """One thing that is not shown."""

    type: str
    text: str
    reason: str
    session_id: int
    at: str | None


def left_out(context: RecallContext, request: ScopeRequest) -> list[LeftOut]:
    """Closed items, rules that do not stand and requests that were met; the latest first."""
    material = requested_material(context, request)
    scope = material.scope
    query = ObservationQuery(
        session=scope.session.id if scope.session else None,
        project=scope.project.key,
        types=("pending_item", "blocker", "constraint"),
        excluded=True,
    )
    sessions = set(scope.ids)
    pairs = [
        (each.observation, each.left_out)
        for each in shown_observations(context.store, query)
        if each.left_out is not None and each.observation.session in sessions
    ]
    latest_request = material.state.request
    finished = read_facts(context.store, scope).finished if scope.session is None else ()
    if latest_request is not None and latest_request.session in finished:
        pairs.append((latest_request, "its session did it, or another session followed"))
    latest = sorted(pairs, key=lambda pair: -(pair[0].at or 0))[:_LIMIT]
    return [
        LeftOut(
            observation.type,
            safe_line(observation.text, _CHARS),
            reason,
            observation.session,
            iso(observation.at),
        )
        for observation, reason in latest
    ]
