"""What agents get of a team's memory: a few lines of others, each with who shared it."""

from __future__ import annotations

from pathlib import Path

from session_memory.core.sharing.wire import Hit
from session_memory.core.text.safe_text import QUOTED
from session_memory.recall.requests import SearchRequest
from session_memory.team.search import search_team

MOST = 10
CHARS = 400


def team_items(data: Path, request: SearchRequest) -> list[dict[str, object]]:
    """The best hits of others, below one's own and marked as text of others."""
    return [_item(hit) for hit in search_team(data, request)[:MOST]]


def _item(hit: Hit) -> dict[str, object]:
    return {
        "author": hit.author,
        "project": hit.project,
        "kind": hit.kind,
        "text": hit.text[:CHARS],
        "people": hit.people,
        "origin": f"another person; {QUOTED}",
    }
