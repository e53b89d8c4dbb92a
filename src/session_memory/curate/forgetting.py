"""What is forgotten or turns out to be secret leaves the catalog; that somebody decided stays."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
from msgspec.structs import replace

from session_memory.core.catalog import Catalog, Evidence, Pattern, Proposal
from session_memory.curate.catalog import changing, write_patterns, write_proposals

Named = Collection[tuple[str, str]]
"""Sessions by flavour and id of their own."""
Words = Callable[[str], str]
"""A text without what is to go from it."""
_KEPT = frozenset({"id", "kind", "status", "action", "superseded_by"})
"""Names that other things are found by; none of them is said by a session."""
_One = TypeVar("_One", bound=Pattern | Proposal)


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


def rewrite_words(data: Path, words: Words) -> tuple[str, ...]:
    """Change words in every version, quote and proposal; returns the patterns that had some."""
    if not data.exists():
        return ()
    with changing(data) as catalog:
        after = Catalog(
            {name: reworded(pattern, words) for name, pattern in catalog.patterns.items()},
            {name: reworded(proposal, words) for name, proposal in catalog.proposals.items()},
        )
        touched = [name for name, new in after.patterns.items() if new != catalog.patterns[name]]
        proposed = [n for n, new in after.proposals.items() if new != catalog.proposals[n]]
        if proposed:
            write_proposals(data, after.proposals)
        if touched:
            write_patterns(data, after, touched)
    return tuple(sorted({*touched, *proposed}))


def reworded(one: _One, words: Words) -> _One:
    """A pattern or proposal with its texts changed; what it is called stays."""
    return msgspec.convert(_reworded(msgspec.to_builtins(one), words), type(one))


def _reworded(value: Any, words: Words) -> Any:
    match value:
        case str():
            return words(value)
        case dict():
            table = cast("dict[str, Any]", value)
            return {k: v if k in _KEPT else _reworded(v, words) for k, v in table.items()}
        case list() | tuple():
            return [_reworded(item, words) for item in cast("list[Any]", value)]
        case _:
            return value


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
