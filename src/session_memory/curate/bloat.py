"""The guard against a catalog that says the same thing twice, or too many things."""

from __future__ import annotations

from typing import Literal

import msgspec

from session_memory.core.catalog import LIVE, Catalog, Pattern, Proposal, Status


class BloatWarning(msgspec.Struct, frozen=True):
    """What would make the catalog larger without making it better."""

    reason: Literal["same_text", "same_locus", "too_many"]
    other: str | None
    """The entry that says it already."""
    message: str


# A retired entry no longer says anything; a rejected one was turned down for a reason.
_SPEAKS: frozenset[Status] = frozenset({*LIVE, "rejected", "candidate"})


def bloat_warnings(
    catalog: Catalog, entry: Proposal | Pattern, limit: int
) -> tuple[BloatWarning, ...]:
    """Exact duplicates, near duplicates (same type and locus), and a catalog that is full."""
    found: list[BloatWarning] = []
    for name, other in sorted({**catalog.proposals, **catalog.patterns}.items()):
        status = catalog.status(name)
        if name == entry.id or status not in _SPEAKS:
            continue
        if _plain(other.text) == _plain(entry.text):
            message = f"{entry.id} says the same as {name} ({status})"
            found.append(BloatWarning("same_text", name, message))
        elif (other.type, _plain(other.locus)) == (entry.type, _plain(entry.locus)):
            message = f"{entry.id} has the type and locus of {name} ({status})"
            found.append(BloatWarning("same_locus", name, message))
    live = sum(catalog.status(name) in LIVE for name in catalog.patterns if name != entry.id)
    if live >= limit:
        message = f"the catalog holds {live} patterns already; curate.max_patterns = {limit}"
        found.append(BloatWarning("too_many", None, message))
    return tuple(found)


def _plain(text: str) -> str:
    return " ".join(text.split())
