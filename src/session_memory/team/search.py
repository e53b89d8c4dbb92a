"""Asking the hub what others shared."""

from __future__ import annotations

from pathlib import Path

from session_memory.core.sharing import wire
from session_memory.recall.requests import SearchRequest
from session_memory.store.remote_call import HubClient
from session_memory.team.membership import membership

KINDS = ("digest", "observation", "cure", "rule", "memory", "events")


def search_team(data: Path, request: SearchRequest) -> tuple[wire.Hit, ...]:
    """What the hub finds of others, in the project of the request or in all that are shared."""
    joined = membership(data)
    projects = tuple(
        each.project for each in joined.shared if request.project_key in (None, each.key)
    )
    if not projects:  # an empty list would mean every project of the team
        return ()
    hub_request = wire.Search(
        request.query,
        projects=projects,
        kinds=KINDS,
        since=request.since,
        until=request.until,
        limit=request.count,
        others_only=True,
    )
    client = HubClient(joined.url, joined.token)
    try:
        return client.post("/v1/search", hub_request, wire.SearchAnswer).hits
    finally:
        client.close()
