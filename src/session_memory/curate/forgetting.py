"""What a forgotten session said leaves the catalog with it; that somebody decided stays."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from msgspec.structs import replace

from session_memory.core.catalog import Catalog, Evidence, Pattern, Proposal
from session_memory.curate.catalog import changing, write_patterns, write_proposals

Named = Collection[tuple[str, str]]
"""Sessions by flavour and id of their own."""


def without_sessions(catalog: Catalog, gone: Named) -> Catalog:
    """The catalog without the words and names of those sessions; counts are no words and stay."""
    names = {f"{flavor}:{session}" for flavor, session in gone}
    proposals = {
        name: replace(proposal, evidence=_left(proposal.evidence, gone))
        for name, proposal in catalog.proposals.items()
    }
    return Catalog(
        {name: _scrubbed(pattern, gone, names) for name, pattern in catalog.patterns.items()},
        {name: kept for name, kept in proposals.items() if _is_founded(kept, catalog)},
    )


def forget_sessions(data: Path, gone: Named) -> tuple[str, ...]:
    """Take the sessions out of the files; returns the patterns whose files changed."""
    if not data.exists():
        return ()
    with changing(data) as catalog:
        after = without_sessions(catalog, gone)
        touched = [name for name, new in after.patterns.items() if new != catalog.patterns[name]]
        if after.proposals != catalog.proposals:
            write_proposals(data, after.proposals)
        if touched:
            write_patterns(data, after, touched)
    return tuple(touched)


def _scrubbed(pattern: Pattern, gone: Named, names: Collection[str]) -> Pattern:
    versions = tuple(
        replace(
            version,
            evidence=_left(version.evidence, gone),
            snapshot=replace(
                version.snapshot,
                session_ids=tuple(i for i in version.snapshot.session_ids if i not in names),
            ),
        )
        for version in pattern.versions
    )
    return replace(pattern, versions=versions)


def _left(evidence: Iterable[Evidence], gone: Named) -> tuple[Evidence, ...]:
    return tuple(item for item in evidence if (item.flavor, item.session) not in gone)


def _is_founded(proposal: Proposal, before: Catalog) -> bool:
    """A proposal that only forgotten sessions spoke for was made of their words: it goes too."""
    return bool(proposal.evidence) or not before.proposals[proposal.id].evidence
