"""What was done between a failure and the next try: the command that may have cured it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from operator import attrgetter

import msgspec

from session_memory.core.schema import CommandRun, Digest, ErrorSeen
from session_memory.detect.loci import command_locus, error_locus

_SHELLS = frozenset(("bash", "shell", "exec_command", "run_shell_command", "run_terminal_cmd"))
_SEQ = attrgetter("seq")
_REACH = 12  # commands between a failure and the next try; more is another story


class Attempt(msgspec.Struct, frozen=True, gc=False):
    """A command run after a problem, and whether what had failed then worked."""

    problem: str
    command: str
    run: CommandRun
    worked: bool


def is_shell(tool: str | None) -> bool:
    """Whether a tool runs commands; of an unknown one it is taken to be so."""
    return tool is None or tool.lower() in _SHELLS


def cures(digest: Digest) -> Iterator[Attempt]:
    """Attempts at every problem, one per failure; what was cured by an edit has no command."""
    runs = digest.commands
    failed = [at for at, run in enumerate(runs) if run.is_error and not run.denied]
    if not failed:
        return
    problems = _problems(digest)
    told: dict[str, str] = {}
    loci = _loci_after(runs, failed)
    for at in failed:
        if locus := loci[at]:
            # An error is kept with its first place only: a command that fails again fails alike.
            problem = told[locus] = problems.get(at) or told.get(locus) or locus
            found = _attempt(runs, at, locus, loci)
            if found is not None:
                remedy, worked = found
                yield Attempt(problem, loci[remedy], runs[remedy], worked)


def _loci_after(runs: tuple[CommandRun, ...], failed: Iterable[int]) -> list[str]:
    """The locus of each run in reach of a failure, '' for the others and for what never ran.

    They are taken no further: most commands never follow a failure.
    """
    loci = [""] * len(runs)
    done = 0
    for at in failed:
        end = min(at + 1 + _REACH, len(runs))
        for place in range(max(done, at), end):
            run = runs[place]
            if not run.denied:
                loci[place] = command_locus(run.command)
        done = end
    return loci


def _attempt(
    runs: tuple[CommandRun, ...], at: int, locus: str, loci: list[str]
) -> tuple[int, bool] | None:
    """(place of the last command that did something before the next try, whether that worked)."""
    after = at + 1
    if after >= len(runs) or loci[after] == locus:
        return None  # nothing came between
    if loci[after] and not runs[after].is_error and _instead(runs[at].command, runs[after].command):
        return after, True
    if not locus or locus not in (reach := loci[after : after + _REACH]):
        return None
    again = after + reach.index(locus)
    for place in range(again - 1, at, -1):
        if loci[place] and not runs[place].is_error:
            return None if runs[place].verifies else (place, not runs[again].is_error)
    return None


def _instead(failed: str, other: str) -> bool:
    """Whether a command is the failed one said differently: `python x.py`, then `python3 x.py`."""
    one, words = set(failed.split()[1:]), other.split()[1:]
    if one.isdisjoint(words):
        return False
    two = set(words)
    return len(one & two) * 2 >= max(len(one), len(two)) or one <= two or two <= one


def settled_by_edits(digest: Digest) -> frozenset[int]:
    """Findings of a check, by event, that were gone once the code they name was edited.

    They are what the check is for. One that a command settled is kept: there is a rule in it.
    """
    # Asked first, as it spares most sessions the rest.
    if not any(seen.template.startswith("<path>") for seen in digest.errors):
        return frozenset()
    runs = digest.commands
    return frozenset(
        seen.seq
        for seen, at in _told_by(digest)
        if runs[at].verifies and seen.template.startswith("<path>") and _passed_by_edits(runs, at)
    )


def _passed_by_edits(runs: tuple[CommandRun, ...], at: int) -> bool:
    locus = command_locus(runs[at].command)
    attempt = _attempt(runs, at, locus, _loci_after(runs, (at,)))
    return not (attempt and attempt[1]) and any(
        not run.is_error and not run.denied and command_locus(run.command) == locus
        for run in runs[at + 1 :]
    )


def _problems(digest: Digest) -> dict[int, str]:
    """The error each failed run told of, by its place."""
    found: dict[int, str] = {}
    for seen, at in _told_by(digest):
        found.setdefault(at, error_locus(seen.sample, seen.template)[1])
    return found


def _told_by(digest: Digest) -> Iterator[tuple[ErrorSeen, int]]:
    """Each error of a shell with the place of the failed run it came from."""
    runs = digest.commands
    places = [run.seq for run in runs] if digest.errors else []
    order = sorted(range(len(places)), key=places.__getitem__)
    places.sort()
    for seen in sorted(digest.errors, key=_SEQ):
        before = bisect_left(places, seen.seq) if is_shell(seen.tool) else 0
        if before and runs[order[before - 1]].is_error:
            yield seen, order[before - 1]
