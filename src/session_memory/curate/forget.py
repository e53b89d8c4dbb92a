"""What is forgotten or turns out to be secret leaves the catalog; that somebody decided stays.

Texts and places of a pattern are made of what sessions said. Where no session is left that says it,
those words go; what a person typed in their place is the person's own and stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
from msgspec.structs import replace

from session_memory.core.forget import FORGOTTEN, Gone
from session_memory.core.loop.catalog import (
    LIVE,
    Catalog,
    Evidence,
    Pattern,
    PatternVersion,
    Proposal,
)
from session_memory.curate.catalog import changing, write_patterns, write_proposals
from session_memory.curate.review import OURSELVES

Words = Callable[[str], str]
"""A text without what is to go from it."""
_KEPT = frozenset({"id", "kind", "status", "action", "superseded_by"})
"""Names that other things are found by; none of them is said by a session."""
_CURE = re.compile(r" `[^`]*` helped in \d+ of \d+ sessions\.$")
"""The end of a text that detection made: the words of whichever session had the cure."""
_One = TypeVar("_One", bound=Pattern | Proposal)


class Changed(msgspec.Struct, frozen=True):
    """What forgetting did to the catalog."""

    touched: tuple[str, ...] = ()
    """Patterns whose files changed."""
    reworded: tuple[str, ...] = ()
    """Those whose text is another now: what was given of it has to be taken out."""
    retired: tuple[Pattern, ...] = ()
    """Those in use that lost their words, and with them their use."""
    typed: tuple[str, ...] = ()
    """Those that keep words a person wrote, although no session is left that speaks for them."""


def without_sessions(catalog: Catalog, gone: Gone, now: int = 0) -> Catalog:
    """The catalog without the words and names of those sessions; counts are no words and stay."""
    patterns: dict[str, Pattern] = {}
    revision = catalog.revision
    for name, pattern in catalog.patterns.items():
        patterns[name] = left = _scrubbed(pattern, gone)
        if left.current.status in LIVE and left.current.text == FORGOTTEN:
            revision += 1
            patterns[name] = _retired(left, revision, now)
    proposals = {
        name: replace(proposal, evidence=_left(proposal.evidence, gone))
        for name, proposal in catalog.proposals.items()
    }
    return replace(
        catalog,
        patterns=patterns,
        proposals={n: kept for n, kept in proposals.items() if _is_founded(kept, catalog, gone)},
    )


def forget_sessions(data: Path, gone: Gone, now: int = 0) -> Changed:
    """Take the sessions out of the files."""
    if not data.exists():
        return Changed()
    with changing(data) as catalog:
        after = without_sessions(catalog, gone, now)
        touched = [name for name, new in after.patterns.items() if new != catalog.patterns[name]]
        if after.proposals != catalog.proposals:
            write_proposals(data, after.proposals)
        if touched:
            write_patterns(data, after, touched)
    before = {name: catalog.patterns[name].current for name in touched}
    now_said = {name: after.patterns[name] for name in touched}
    return Changed(
        tuple(touched),
        tuple(n for n, one in now_said.items() if one.current.text != before[n].text),
        tuple(p for n, p in now_said.items() if p.current.status != before[n].status),
        tuple(n for n, p in now_said.items() if p.locus == FORGOTTEN and p.text != FORGOTTEN),
    )


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


def _scrubbed(pattern: Pattern, gone: Gone) -> Pattern:
    """The pattern without the names of the sessions, and without words that were only theirs."""
    versions = tuple(
        replace(
            version,
            evidence=_left(version.evidence, gone),
            snapshot=replace(
                version.snapshot,
                session_ids=tuple(
                    name for name in version.snapshot.session_ids if name not in gone.full_names
                ),
                repos=tuple(key for key in version.snapshot.repos if key not in gone.keys),
            ),
        )
        for version in pattern.versions
    )
    left = replace(pattern, versions=versions)
    if left == pattern:
        return pattern
    if gone.speaks_no_more(pattern.id, left.current.snapshot.session_ids):
        return _reworded_unless_typed(replace(left, locus=FORGOTTEN), lambda _text: FORGOTTEN)
    return _reworded_unless_typed(left, lambda text: _CURE.sub("", text))


def _reworded_unless_typed(pattern: Pattern, words: Words) -> Pattern:
    typed = _typed(pattern)

    def edit(text: str) -> str:
        return text if text in typed else words(text)

    versions = tuple(replace(one, text=edit(one.text)) for one in pattern.versions)
    return replace(pattern, text=edit(pattern.text), versions=versions)


def _typed(pattern: Pattern) -> frozenset[str]:
    """The texts that a person wrote: by editing, in the file, or approved as somebody edited it."""
    found = {pattern.text} if pattern.is_edited else set[str]()
    before = pattern.versions[0].text
    for version in pattern.versions:
        if version.action == "edit" or (version.action == "approve" and version.text != before):
            found.add(version.text)
        before = version.text
    return frozenset(found)


def _retired(pattern: Pattern, revision: int, now: int) -> Pattern:
    """A pattern in use whose words went can be given to nobody any more."""
    version = PatternVersion(
        number=pattern.current.number + 1,
        revision=revision,
        status="retired",
        action="retire",
        who=OURSELVES,
        at=now,
        text=FORGOTTEN,
        why="every session that spoke for it was forgotten",
        snapshot=pattern.current.snapshot,
    )
    return replace(pattern, versions=(*pattern.versions, version))


def _left(evidence: Iterable[Evidence], gone: Gone) -> tuple[Evidence, ...]:
    return tuple(item for item in evidence if (item.flavor, item.session) not in gone.sessions)


def _is_founded(proposal: Proposal, before: Catalog, gone: Gone) -> bool:
    """A proposal whose words no other session says goes; the next detection proposes anew."""
    if proposal == before.proposals[proposal.id]:
        return True
    names = tuple(f"{item.flavor}:{item.session}" for item in proposal.evidence)
    return not gone.speaks_no_more(proposal.id, names)
