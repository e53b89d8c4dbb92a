"""Signals of many sessions counted into candidates: by type and locus, near duplicates joined.

Two passes over the evidence, each of which can be made over its parts and put together: one counts
keys and finds what has near duplicates, one counts what may recur. So memory grows with what
recurs. Few sessions are read once, and very many a third time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice

from session_memory.core.loop.patterns import Candidate, Mined
from session_memory.detect.fold import Fold
from session_memory.detect.loci import command_locus
from session_memory.detect.names import Loci, Statuses, find_loci, find_names
from session_memory.detect.survey import KeyCounts

FEW = 2000
"""Sessions whose signals are kept while they are counted: some ten megabytes."""
MANY_ERRORS = 100_000
"""Errors that are kept while it is not known which recur: some thirty megabytes."""
Evidence = Callable[[], Iterable[Mined]]
"""Mined sessions, the newest first; a session and its sub-agents follow each other."""


def cluster(
    evidence: Evidence, statuses: Statuses | None = None, *, single_sessions: bool = False
) -> list[Candidate]:
    """Candidates that at least two sessions show, unranked, in order of their ids.

    With `single_sessions`, what only one session shows is a candidate too. `statuses` are those of
    patterns named before: of near duplicates the known one keeps its name, and first of all the one
    that was decided on.
    """
    statuses, counts = statuses or {}, None
    everything = iter(evidence())
    few = tuple(islice(everything, FEW))
    if len(few) < FEW:
        evidence = _as_evidence(few)
        loci = find_loci(few)
    elif single_sessions:
        loci = find_loci(chain(few, everything))
    else:
        counts, loci = survey(chain(few, everything), evidence)
    del few, everything
    fold = Fold(find_names(loci, statuses), counts)
    fold.add_all(evidence())
    return candidates_of(fold, statuses, single_sessions=single_sessions)


def _as_evidence(sessions: Sequence[Mined]) -> Evidence:
    return lambda: sessions


def survey(sessions: Iterable[Mined], evidence: Evidence) -> tuple[KeyCounts, Loci]:
    """Which keys recur, and what may have near duplicates, of all sessions.

    Where that is very much, all sessions are read again, for what may recur alone.
    """
    counts, loci = KeyCounts(), Loci()
    for mined in sessions:
        counts.count(mined.repo, mined.signals)
        if len(loci.errors) < MANY_ERRORS:
            loci.add(mined)
    if len(loci.errors) < MANY_ERRORS and not counts.is_crowded:
        return counts, loci
    second = KeyCounts(second=True)
    return second, find_loci(count_again(evidence(), counts, second), counts)


def count_again(evidence: Iterable[Mined], counts: KeyCounts, second: KeyCounts) -> Iterator[Mined]:
    """The same sessions; what the first table keeps of them is counted in the second."""
    for mined in evidence:
        kept = [
            signal
            for signal in mined.signals
            if signal.pattern not in second.recurring and counts.keeps(mined.repo, signal)
        ]
        second.count(mined.repo, kept, words=False)
        yield mined


def candidates_of(fold: Fold, statuses: Statuses, *, single_sessions: bool) -> list[Candidate]:
    """What was counted, as `cluster` gives it."""
    candidates = list(fold.candidates(statuses, 1 if single_sessions else 2))
    return sorted(_without_checks(candidates), key=lambda candidate: candidate.id)


def _without_checks(candidates: list[Candidate]) -> Iterator[Candidate]:
    """All but checks that fail no more often than they pass: the code failed them."""
    passes: dict[str, int] = {}
    for check in candidates:
        if check.type == "verified_recipe":
            name = command_locus(check.locus.partition(" in ")[0])
            passes[name] = max(check.sessions, passes.get(name, 0))
    for candidate in candidates:
        undecided = candidate.type == "failing_command" and candidate.status == "candidate"
        if not (undecided and candidate.sessions <= passes.get(candidate.locus, 0)):
            yield candidate
