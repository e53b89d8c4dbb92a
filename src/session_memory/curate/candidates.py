"""From candidates to proposals: a draft text with all its evidence, for a person to decide on."""

from __future__ import annotations

from collections.abc import Iterable

from session_memory.core.loop.catalog import Evidence, Proposal
from session_memory.core.loop.patterns import Candidate, Mined, Signal, SignalType

MAX_OCCURRENCES = 20
"""Occurrences of one signal that are listed one by one; the gate counts fewer of a session."""

# Drafts: a person edits them before any agent reads them.
_WORDS: dict[SignalType, str] = {
    "stated_rule": "The user said: {locus}",
    "notice": "A host or server said: {locus}",
    "failing_command": "`{locus}` keeps failing.",
    "recurring_error": "This error recurs: {locus}",
    "edit_churn": "`{locus}` is edited over and over in one session.",
    "retry_loop": "The same call is repeated without a change: {locus}",
    "user_correction": "The user had to correct: {locus}",
    "denied_permission": "Permission is denied for: {locus}",
    "wrong_directory": "Run in the wrong directory: {locus}",
    "missing_tool": "`{locus}` is not installed.",
    "long_search": "It takes a long search to find where to edit: {locus}",
    "context_thrash": "The context is compacted again and again: {locus}",
    "expensive_stretch": "A long stretch without success: {locus}",
    "cure": "After `{about}`, run `{locus}`.",
    "verified_recipe": "`{locus}` is a check that works.",
    "fast_path": "A short way that worked: {locus}",
}


def proposals_of(candidates: Iterable[Candidate], mined: Iterable[Mined]) -> list[Proposal]:
    """A proposal for each ranked candidate, with the occasions on which sessions showed it."""
    by_id = {candidate.id: candidate for candidate in candidates}
    names = {alias: c.id for c in by_id.values() for alias in (c.id, *c.merged)}
    sessions = list(mined)
    owners = {session.session: session.external_id for session in sessions}
    occasions: dict[str, list[Evidence]] = {name: [] for name in by_id}
    for session in sessions:
        # Signals of a sub-agent count for the session it worked for.
        owner = owners.get(session.counts_as, session.external_id)
        for signal in session.signals:
            if name := names.get(signal.pattern):
                occasions[name] += _occasions(session, owner, signal)
    ranks = {name: rank for rank, name in enumerate(by_id, 1)}
    return [_proposal(by_id[name], tuple(occasions[name]), ranks[name]) for name in sorted(by_id)]


def _occasions(mined: Mined, owner: str, signal: Signal) -> list[Evidence]:
    at = mined.at if signal.at is None else signal.at
    cost = (signal.usd or 0.0) / max(signal.count, 1)
    occasion = Evidence(owner, mined.flavor, mined.repo, at, signal.quote, cost)
    return [occasion] * min(signal.count, MAX_OCCURRENCES)


def _proposal(candidate: Candidate, evidence: tuple[Evidence, ...], rank: int) -> Proposal:
    locus, about = candidate.locus, candidate.about
    text = candidate.rule or _WORDS[candidate.type].format_map({"locus": locus, "about": about})
    for cure in () if candidate.rule else candidate.cures[:1]:
        text += f" `{cure.command}` helped in {cure.worked} of {cure.tried} sessions."
    where = f"{locus} (after {about})" if about else locus
    return Proposal(
        id=candidate.id,
        kind=candidate.kind,
        type=candidate.type,
        locus=where,
        text=text,
        evidence=evidence,
        sure=candidate.sure if candidate.rule and not candidate.left_out else "",
        rank=rank,
        seen=candidate.frequency,
        cost=candidate.usd or 0.0,
    )
