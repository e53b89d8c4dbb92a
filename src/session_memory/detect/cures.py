"""What was done between a failure and the next try: the command that may have cured it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from session_memory.core.schema import CommandRun, Digest
from session_memory.detect.digest_view import REACH, Story
from session_memory.detect.loci import command_locus

_SHELLS = frozenset(("bash", "shell", "exec_command", "run_shell_command", "run_terminal_cmd"))

Attempt = tuple[str, int, bool]
"""(a problem, the place of the command run after it, whether what had failed then worked)"""


def is_shell(tool: str | None) -> bool:
    """Whether a tool runs commands; of an unknown one it is taken to be so."""
    return tool is None or tool.lower() in _SHELLS


def cures(story: Story) -> Iterator[Attempt]:
    """Attempts at every problem, one per failure; what was cured by an edit has no command."""
    runs, loci = story.digest.commands, story.loci
    problems = _problems(story)
    told: dict[str, str] = {}
    for at in story.failed:
        if locus := loci[at]:
            # An error is kept with its first place only: a command that fails again fails alike.
            problem = told[locus] = problems.get(at) or told.get(locus) or locus
            found = _attempt(runs, at, locus, loci)
            if found is not None:
                yield problem, *found


def _attempt(
    runs: tuple[CommandRun, ...], at: int, locus: str, loci: list[str]
) -> tuple[int, bool] | None:
    """(place of the last command that did something before the next try, whether that worked)."""
    after = at + 1
    if after >= len(runs) or loci[after] == locus:
        return None  # nothing came between
    if loci[after] and not runs[after].is_error and _instead(runs[at].command, runs[after].command):
        return after, True
    if not locus or locus not in (reach := loci[after : after + REACH]):
        return None
    again = after + reach.index(locus)
    for place in range(again - 1, at, -1):
        if loci[place] and not runs[place].is_error:
            return None if runs[place].verifies else (place, not runs[again].is_error)
    return None


def _instead(failed: str, other: str) -> bool:
    """Whether a command is the failed one said differently: `python x.py`, then `python3 x.py`."""
    one, two = set(failed.split()[1:]), set(other.split()[1:])
    shared, first, second = len(one & two), len(one), len(two)
    half = first <= shared * 2 >= second
    return shared > 0 and (half or shared in (first, second))


def settled_by_edits(story: Story) -> frozenset[int]:
    """Findings of a check, by event, that were gone once the code they name was edited.

    They are what the check is for. One that a command settled is kept: there is a rule in it.
    """
    digest = story.digest
    named = [seen.template[:6] == "<path>" for seen in digest.errors]
    if True not in named:  # asked first, as it spares most sessions the rest
        return frozenset()
    runs = digest.commands
    return frozenset(
        digest.errors[which].seq
        for which, at in _told_by(digest)
        if named[which] and runs[at].verifies and _passed_by_edits(story, at)
    )


def _passed_by_edits(story: Story, at: int) -> bool:
    runs = story.digest.commands
    locus = command_locus(runs[at].command)
    attempt = _attempt(runs, at, locus, story.loci)
    return not (attempt and attempt[1]) and any(
        not run.is_error and not run.denied and command_locus(run.command) == locus
        for run in runs[at + 1 :]
    )


def _problems(story: Story) -> dict[int, str]:
    """The error each failed run told of first, by its place."""
    errors = story.digest.errors
    first: dict[int, int] = {}
    for which, at in _told_by(story.digest):
        known = first.get(at)
        if known is None or errors[which].seq < errors[known].seq:
            first[at] = which
    return {at: story.troubles[which][2] for at, which in first.items()}


def _told_by(digest: Digest) -> Iterator[tuple[int, int]]:
    """Each error of a shell with the failed run it came from, both by place."""
    runs = digest.commands
    places = [run.seq for run in runs]
    ordered, order = sorted(places), range(len(places))
    if ordered != places:
        order = sorted(order, key=places.__getitem__)
    for which, seen in enumerate(digest.errors):
        before = bisect_left(ordered, seen.seq)
        if before and runs[order[before - 1]].is_error and is_shell(seen.tool):
            yield which, order[before - 1]
