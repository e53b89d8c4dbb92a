"""The guard against a catalog that says the same thing twice, or too many things."""

from __future__ import annotations

from typing import Literal

import msgspec

from session_memory.core.loop.catalog import LIVE, Catalog, Pattern, Proposal, Status


class BloatWarning(msgspec.Struct, frozen=True):
    """What would make the catalog larger without making it better."""

    reason: Literal["same_text", "same_locus", "too_many"]
    other: str | None
    """The entry that says it already."""
    message: str


# A retired entry no longer says anything; a rejected one was turned down for a reason.
_SPEAKS: frozenset[Status] = frozenset({*LIVE, "rejected", "candidate"})


class Said(msgspec.Struct, frozen=True):
    """Who says what: looked up once for many entries, since comparing each with each is slow."""

    texts: dict[str, list[str]]
    loci: dict[tuple[str, str], list[str]]
    live: frozenset[str]


def what_is_said(catalog: Catalog) -> Said:
    """The texts and loci of everything that speaks, in order of the ids."""
    texts: dict[str, list[str]] = {}
    loci: dict[tuple[str, str], list[str]] = {}
    for name, entry in sorted({**catalog.proposals, **catalog.patterns}.items()):
        if catalog.status(name) in _SPEAKS:
            texts.setdefault(_plain(entry.text), []).append(name)
            loci.setdefault(_place(entry), []).append(name)
    live = (name for name in catalog.patterns if catalog.status(name) in LIVE)
    return Said(texts, loci, frozenset(live))


def bloat_warnings(
    catalog: Catalog, entry: Proposal | Pattern, limit: int, said: Said | None = None
) -> tuple[BloatWarning, ...]:
    """Exact duplicates, near duplicates (same type and locus), and a catalog that is full."""
    said = said or what_is_said(catalog)
    same = [name for name in said.texts.get(_plain(entry.text), ()) if name != entry.id]
    near = [n for n in said.loci.get(_place(entry), ()) if n != entry.id and n not in same]
    found = [
        BloatWarning("same_text", n, f"{entry.id} says the same as {n} ({catalog.status(n)})")
        for n in same
    ]
    for name in near:
        message = f"{entry.id} has the type and locus of {name} ({catalog.status(name)})"
        found.append(BloatWarning("same_locus", name, message))
    live = len(said.live - {entry.id})
    if live >= limit:
        message = f"the catalog holds {live} patterns already; curate.max_patterns = {limit}"
        found.append(BloatWarning("too_many", None, message))
    return tuple(found)


def _place(entry: Proposal | Pattern) -> tuple[str, str]:
    return entry.type, _plain(entry.locus)


def _plain(text: str) -> str:
    return " ".join(text.split())
