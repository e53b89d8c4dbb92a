"""Warnings about duplicate patterns and about a catalog that grows too large."""

from __future__ import annotations

from typing import Literal

import msgspec

from session_memory.core.loop.catalog import LIVE, Catalog, Pattern, Proposal, Status


class BloatWarning(msgspec.Struct, frozen=True):
    """A reason why an entry would make the catalog larger without making it better."""

    reason: Literal["same_text", "same_locus", "too_many"]
    other: str | None
    """The entry that says it already."""
    message: str


# Retired entries are out of use; a rejected one was turned down for a reason that still holds.
_COMPARED: frozenset[Status] = frozenset({*LIVE, "rejected", "candidate"})


class CatalogIndex(msgspec.Struct, frozen=True):
    """Entries by text and by locus, built once for many lookups: comparing each pair is slow."""

    texts: dict[str, list[str]]
    loci: dict[tuple[str, str], list[str]]
    live: frozenset[str]


def index_catalog(catalog: Catalog) -> CatalogIndex:
    """Index every entry that counts as a duplicate, in order of the ids."""
    texts: dict[str, list[str]] = {}
    loci: dict[tuple[str, str], list[str]] = {}
    for name, entry in sorted({**catalog.proposals, **catalog.patterns}.items()):
        if catalog.status(name) in _COMPARED:
            texts.setdefault(_plain(entry.text), []).append(name)
            loci.setdefault(_type_and_locus(entry), []).append(name)
    live = (name for name in catalog.patterns if catalog.status(name) in LIVE)
    return CatalogIndex(texts, loci, frozenset(live))


def bloat_warnings(
    catalog: Catalog, entry: Proposal | Pattern, limit: int, index: CatalogIndex | None = None
) -> tuple[BloatWarning, ...]:
    """Exact duplicates, near duplicates (same type and locus), and a catalog that is full."""
    index = index or index_catalog(catalog)
    same = [name for name in index.texts.get(_plain(entry.text), ()) if name != entry.id]
    near = [
        n for n in index.loci.get(_type_and_locus(entry), ()) if n != entry.id and n not in same
    ]
    warnings = [
        BloatWarning("same_text", n, f"{entry.id} says the same as {n} ({catalog.status(n)})")
        for n in same
    ]
    for name in near:
        message = f"{entry.id} has the type and locus of {name} ({catalog.status(name)})"
        warnings.append(BloatWarning("same_locus", name, message))
    live = len(index.live - {entry.id})
    if live >= limit:
        message = f"the catalog holds {live} rules already; curate.max_patterns = {limit}"
        warnings.append(BloatWarning("too_many", None, message))
    return tuple(warnings)


def _type_and_locus(entry: Proposal | Pattern) -> tuple[str, str]:
    return entry.type, _plain(entry.locus)


def _plain(text: str) -> str:
    return " ".join(text.split())
