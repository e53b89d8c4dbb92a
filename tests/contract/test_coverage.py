"""Every method that a store promises is called by a test of this folder."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from session_memory.store import background, exchange, loop, memories, port, scopes
from session_memory.store.writer import Writer
from session_memory.testing import store_drafts

HERE = Path(__file__).parent
CALLS = "\n".join(
    path.read_text(encoding="utf-8")
    for path in (*HERE.glob("test_*.py"), Path(store_drafts.__file__))
    if path.name != Path(__file__).name
)
TOPICS: dict[str, type] = {
    "store": port.Store,
    "writer": Writer,
    "jobs": background.Jobs,
    "live": background.Live,
    "spend": background.Spend,
    "patterns": loop.Patterns,
    "effects": loop.Effects,
    "memories": memories.Memories,
    "scopes": scopes.Scopes,
    "closures": scopes.Closures,
    "syncs": scopes.Syncs,
    "exchange": exchange.Exchange,
}
"""How tests call each protocol: the last name before the method."""


def methods(protocol: type) -> list[str]:
    """The methods a protocol promises, those of its bases included."""
    return [
        name
        for name, _ in inspect.getmembers(protocol, inspect.isfunction)
        if not name.startswith("_")
    ]


@pytest.mark.parametrize("topic", TOPICS)
def test_every_method_is_called(topic: str) -> None:
    uncalled = [
        method
        for method in methods(TOPICS[topic])
        if not re.search(rf"\b{topic}\.{method}\(", CALLS)
    ]
    assert uncalled == []


def test_no_topic_of_a_store_is_left_out() -> None:
    properties = inspect.getmembers(port.Store, lambda member: isinstance(member, property))
    assert {name for name, _ in properties} | {"store", "writer"} == set(TOPICS)
