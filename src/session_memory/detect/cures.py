"""What was done between a failure and the next try: the command that may have cured it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

import msgspec

from session_memory.core.schema import CommandRun, Digest
from session_memory.detect.loci import command_locus, error_locus

_REACH = 12  # commands between a failure and the next try; more is another story


class Attempt(msgspec.Struct, frozen=True, gc=False):
    """A command run after a problem, and whether what had failed then worked."""

    problem: str
    command: str
    run: CommandRun
    worked: bool


def cures(digest: Digest) -> Iterator[Attempt]:
    """Attempts at every problem, one per failure; what was cured by an edit has no command."""
    runs = digest.commands
    if not any(run.is_error for run in runs):
        return
    loci = [command_locus(run.command) for run in runs]
    problems = _problems(digest)
    told: dict[str, str] = {}
    for at, run in enumerate(runs):
        if run.is_error and not run.denied and loci[at]:
            # An error is kept with its first place only: a command that fails again fails alike.
            problem = told[loci[at]] = problems.get(at) or told.get(loci[at]) or loci[at]
            found = _attempt(runs, loci, at)
            if found is not None:
                yield Attempt(problem, loci[found[0]], runs[found[0]], found[1])


def _attempt(runs: tuple[CommandRun, ...], loci: list[str], at: int) -> tuple[int, bool] | None:
    """(the last command that did something before the next try, whether that try worked)."""
    remedy: int | None = None
    for later in range(at + 1, min(len(runs), at + 1 + _REACH)):
        if runs[later].denied or not loci[later]:
            continue
        if loci[later] == loci[at]:
            return None if remedy is None else (remedy, not runs[later].is_error)
        if not runs[later].is_error:
            if later == at + 1 and _instead(runs[at].command, runs[later].command):
                return later, True
            remedy = None if runs[later].verifies else later
    return None


def _instead(failed: str, other: str) -> bool:
    """Whether a command is the failed one said differently: `python x.py`, then `python3 x.py`."""
    one, two = set(failed.split()[1:]), set(other.split()[1:])
    common = len(one & two)
    return common > 0 and (common * 2 >= max(len(one), len(two)) or one <= two or two <= one)


def _problems(digest: Digest) -> dict[int, str]:
    """The error each failed run told of, by its place; only where no other call came between."""
    found: dict[int, str] = {}
    order = sorted((run.seq, at) for at, run in enumerate(digest.commands))
    for seen in sorted(digest.errors, key=lambda seen: seen.seq):
        before = bisect_left(order, (seen.seq, -1))
        at = order[before - 1][1] if before else -1
        if at >= 0 and digest.commands[at].is_error:
            found.setdefault(at, error_locus(seen.sample, seen.template)[1])
    return found
