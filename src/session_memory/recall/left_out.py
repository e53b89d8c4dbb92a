"""What open work and a pack do not show of a scope, each with the reason."""

from __future__ import annotations

import msgspec

from session_memory.clock import iso
from session_memory.recall.context import RecallContext
from session_memory.recall.material import requested_material
from session_memory.recall.noted import noted
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
    found = [
        (each.observation, each.left_out)
        for each in noted(context.store, query)
        if each.left_out is not None and each.observation.session in sessions
    ]
    asked = material.state.request
    finished = read_facts(context.store, scope).finished if scope.session is None else ()
    if asked is not None and asked.session in finished:
        found.append((asked, "its session did it, or another session followed"))
    latest = sorted(found, key=lambda pair: -(pair[0].at or 0))[:_LIMIT]
    return [
        LeftOut(one.type, safe_line(one.text, _CHARS), reason, one.session, iso(one.at))
        for one, reason in latest
    ]
