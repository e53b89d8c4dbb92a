"""Forgetting in the catalog: words of forgotten sessions go, the record of a decision is kept.

Text and locus of a pattern come from sessions. When no session is left that shows the pattern, both
go; a text that a person wrote instead is the person's own and stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
from msgspec.structs import replace

from session_memory.core.forget import FORGOTTEN, ForgottenSessions
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

Rewrite = Callable[[str], str]
"""From a text to the same text without the words that must go."""
_WORDLESS = frozenset({"id", "kind", "status", "action", "superseded_by"})
"""Fields that hold no words of a session."""
_CURE = re.compile(r" `[^`]*` (?:helped in \d+ of \d+ sessions|fails, `[^`]*` works)\.$")
"""The end of a text made by detection; the commands may come from a forgotten session."""
_WORD = re.compile(r"\w+")
_Entry = TypeVar("_Entry", bound=Pattern | Proposal)


class Changed(msgspec.Struct, frozen=True):
    """What forgetting did to the catalog."""

    touched: tuple[str, ...] = ()
    """Patterns whose files changed."""
    reworded: tuple[str, ...] = ()
    """Those whose text changed: files that give the old text have to be cleaned."""
    retired: tuple[Pattern, ...] = ()
    """Those in use that lost their text, so that they cannot be given any more."""
    typed: tuple[str, ...] = ()
    """Those that keep a text written by a person although no session is left that shows them."""


def without_sessions(catalog: Catalog, forgotten: ForgottenSessions, now: int = 0) -> Catalog:
    """The catalog without the words and names of those sessions; counts stay."""
    patterns: dict[str, Pattern] = {}
    revision = catalog.revision
    for name, pattern in catalog.patterns.items():
        patterns[name] = left = _scrubbed(pattern, forgotten)
        if left.current.status in LIVE and left.current.text == FORGOTTEN:
            revision += 1
            patterns[name] = _retired(left, revision, now)
    proposals = {
        name: _shown_by_others(proposal, forgotten) for name, proposal in catalog.proposals.items()
    }
    return replace(
        catalog,
        patterns=patterns,
        proposals={
            n: left for n, left in proposals.items() if _has_evidence(left, catalog, forgotten)
        },
    )


def forget_sessions(data: Path, forgotten: ForgottenSessions, now: int = 0) -> Changed:
    """Take the sessions out of the files."""
    if not data.exists():
        return Changed()
    with changing(data) as catalog:
        after = without_sessions(catalog, forgotten, now)
        touched = [name for name, new in after.patterns.items() if new != catalog.patterns[name]]
        if after.proposals != catalog.proposals:
            write_proposals(data, after.proposals)
        if touched:
            write_patterns(data, after, touched)
    before = {name: catalog.patterns[name].current for name in touched}
    changed = {name: after.patterns[name] for name in touched}
    return Changed(
        touched=tuple(touched),
        reworded=tuple(n for n, p in changed.items() if p.current.text != before[n].text),
        retired=tuple(p for n, p in changed.items() if p.current.status != before[n].status),
        typed=tuple(n for n, p in changed.items() if p.locus == FORGOTTEN != p.text),
    )


def rewrite_words(data: Path, rewrite: Rewrite) -> tuple[str, ...]:
    """Rewrite every version, quote and proposal; returns the patterns that changed."""
    if not data.exists():
        return ()
    with changing(data) as catalog:
        after = Catalog(
            {name: reworded(pattern, rewrite) for name, pattern in catalog.patterns.items()},
            {name: reworded(proposal, rewrite) for name, proposal in catalog.proposals.items()},
        )
        touched = [name for name, new in after.patterns.items() if new != catalog.patterns[name]]
        proposed = [n for n, new in after.proposals.items() if new != catalog.proposals[n]]
        if proposed:
            write_proposals(data, after.proposals)
        if touched:
            write_patterns(data, after, touched)
    return tuple(sorted({*touched, *proposed}))


def reworded(entry: _Entry, rewrite: Rewrite) -> _Entry:
    """A pattern or proposal with its texts rewritten.

    A locus may be made of the quoted words in lower case, as which `rewrite` need not know them.
    """
    lost: set[str] = set()

    def edit(text: str) -> str:
        new = rewrite(text)
        if new != text:
            lost.update(_words(text) - _words(new))
        return new

    new = _reworded(msgspec.to_builtins(entry), edit)
    locus = str(new["locus"])
    left = _WORD.sub(lambda word: FORGOTTEN if word[0] in lost else word[0], locus)
    if left != locus:
        new = _reworded(new, lambda text: text.replace(locus, left))
    return msgspec.convert(new, type(entry))


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


def _reworded(value: Any, rewrite: Rewrite) -> Any:
    match value:
        case str():
            return rewrite(value)
        case dict():
            table = cast("dict[str, Any]", value)
            return {k: v if k in _WORDLESS else _reworded(v, rewrite) for k, v in table.items()}
        case list() | tuple():
            return [_reworded(item, rewrite) for item in cast("list[Any]", value)]
        case _:
            return value


def _scrubbed(pattern: Pattern, forgotten: ForgottenSessions) -> Pattern:
    """The pattern without the names of the sessions, and without words that were only theirs."""
    versions = tuple(
        replace(
            version,
            evidence=_left(version.evidence, forgotten),
            snapshot=replace(
                version.snapshot,
                session_ids=tuple(
                    name
                    for name in version.snapshot.session_ids
                    if name not in forgotten.full_names
                ),
                repos=tuple(
                    key for key in version.snapshot.repos if key not in forgotten.project_keys
                ),
            ),
        )
        for version in pattern.versions
    )
    left = replace(pattern, versions=versions)
    if left == pattern:
        return pattern
    if forgotten.leaves_no_evidence(pattern.id, left.current.snapshot.session_ids):
        return _reworded_unless_typed(replace(left, locus=FORGOTTEN), lambda _text: FORGOTTEN)
    return _reworded_unless_typed(left, lambda text: _CURE.sub("", text))


def _reworded_unless_typed(pattern: Pattern, rewrite: Rewrite) -> Pattern:
    typed = _typed(pattern)

    def edit(text: str) -> str:
        return text if text in typed else rewrite(text)

    versions = tuple(replace(version, text=edit(version.text)) for version in pattern.versions)
    return replace(pattern, text=edit(pattern.text), versions=versions)


def _typed(pattern: Pattern) -> frozenset[str]:
    """The texts that a person wrote: by editing, in the file, or approved after an edit."""
    typed = {pattern.text} if pattern.is_edited else set[str]()
    before = pattern.versions[0].text
    for version in pattern.versions:
        if version.action == "edit" or (version.action == "approve" and version.text != before):
            typed.add(version.text)
        before = version.text
    return frozenset(typed)


def _retired(pattern: Pattern, revision: int, now: int) -> Pattern:
    """The pattern with a last version that takes it out of use."""
    version = PatternVersion(
        number=pattern.current.number + 1,
        revision=revision,
        status="retired",
        action="retire",
        who=OURSELVES,
        at=now,
        text=FORGOTTEN,
        why="every session that showed it was forgotten",
        snapshot=pattern.current.snapshot,
    )
    return replace(pattern, versions=(*pattern.versions, version))


def _shown_by_others(proposal: Proposal, forgotten: ForgottenSessions) -> Proposal:
    evidence = _left(proposal.evidence, forgotten)
    if evidence == proposal.evidence:
        return proposal
    return replace(proposal, evidence=evidence, text=_CURE.sub("", proposal.text))


def _left(evidence: Iterable[Evidence], forgotten: ForgottenSessions) -> tuple[Evidence, ...]:
    return tuple(item for item in evidence if (item.flavor, item.session) not in forgotten.sessions)


def _has_evidence(proposal: Proposal, before: Catalog, forgotten: ForgottenSessions) -> bool:
    """Whether a session is left that shows a proposal."""
    if proposal == before.proposals[proposal.id]:
        return True
    names = tuple(f"{item.flavor}:{item.session}" for item in proposal.evidence)
    return not forgotten.leaves_no_evidence(proposal.id, names)
