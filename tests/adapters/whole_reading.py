"""Reads built logs of agents whose sources are read whole, as the sweep does."""

from __future__ import annotations

from pathlib import Path

from session_memory.adapters.common import LINE_CAP, Normalized, RawEvent, SessionPart
from session_memory.adapters.registry import adapter


def parse_home(flavor: str, home: Path) -> list[Normalized]:
    """What each source below a home says."""
    reader = adapter(flavor)
    return [
        reader.parse(source, block, {})
        for source in reader.discover(str(home))
        for block in reader.read(source, 0, LINE_CAP)
    ]


def only_part(flavor: str, home: Path) -> SessionPart:
    """The one session of a home."""
    (bundle,) = parse_home(flavor, home)
    (part,) = bundle.sessions
    return part


def told(events: list[RawEvent]) -> list[tuple[str, str | None, str]]:
    """Kind, label and text of each event."""
    return [(event.kind, event.label, event.text) for event in events]


def facts(part: SessionPart) -> dict[str, str | int]:
    """Facts by name; of a set, the last."""
    return {fact.name: fact.value for fact in part.facts}
