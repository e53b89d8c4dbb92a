"""From what detection found to what a person is asked: a draft of words, with all its evidence."""

from __future__ import annotations

from collections.abc import Iterable

from session_memory.core.loop.catalog import Evidence, Proposal
from session_memory.core.loop.patterns import Candidate, Mined, Signal, SignalType

TOLD_APART = 20
"""Occurrences of one signal that are told one by one; the gate counts fewer of a session."""

# Drafts: a person edits them before any agent reads them.
_WORDS: dict[SignalType, str] = {
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


def proposals_of(found: Iterable[Candidate], evidence: Iterable[Mined]) -> list[Proposal]:
    """A proposal for each candidate, with the occasions that the sessions tell of."""
    candidates = {one.id: one for one in found}
    names = {other: one.id for one in candidates.values() for other in (one.id, *one.merged)}
    mined = list(evidence)
    owners = {one.session: one.external_id for one in mined}
    occasions: dict[str, list[Evidence]] = {name: [] for name in candidates}
    for one in mined:
        # What a sub-agent met, the session it worked for met.
        session = owners.get(one.counts_as, one.external_id)
        for signal in one.signals:
            if name := names.get(signal.pattern):
                occasions[name] += _occasions(one, session, signal)
    return [_proposal(one, tuple(occasions[name])) for name, one in sorted(candidates.items())]


def _occasions(mined: Mined, session: str, signal: Signal) -> list[Evidence]:
    count = min(signal.count, TOLD_APART)
    at = mined.at if signal.at is None else signal.at
    cost = (signal.usd or 0.0) / max(signal.count, 1)
    one = Evidence(session, mined.flavor, mined.repo, at, signal.quote, cost)
    return [one] * count


def _proposal(one: Candidate, evidence: tuple[Evidence, ...]) -> Proposal:
    text = _WORDS[one.type].format_map({"locus": one.locus, "about": one.about})
    for cure in one.cures[:1]:
        text += f" `{cure.command}` helped in {cure.worked} of {cure.tried} sessions."
    locus = f"{one.locus} (after {one.about})" if one.about else one.locus
    return Proposal(one.id, one.kind, one.type, locus, text, evidence)
