"""What was done between a failure and the next try: the command that may have cured it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
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
    for at in failed:
        if locus := command_locus(runs[at].command):
            # An error is kept with its first place only: a command that fails again fails alike.
            problem = told[locus] = problems.get(at) or told.get(locus) or locus
            found = _attempt(runs, at, locus)
            if found is not None:
                remedy, worked = found
                yield Attempt(problem, command_locus(remedy.command), remedy, worked)


def _attempt(runs: tuple[CommandRun, ...], at: int, locus: str) -> tuple[CommandRun, bool] | None:
    """(the last command that did something before the next try, whether that try worked).

    Loci are taken only as far as they are needed: most commands never follow a failure.
    """
    remedy: CommandRun | None = None
    first = True  # nothing came between
    for run in runs[at + 1 : at + 1 + _REACH]:
        if not run.denied and (here := command_locus(run.command)):
            if here == locus:
                return None if remedy is None else (remedy, not run.is_error)
            if not run.is_error:
                if first and _instead(runs[at].command, run.command):
                    return run, True
                remedy = None if run.verifies else run
        first = False
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
    runs = digest.commands
    if not any(run.verifies and run.is_error for run in runs):
        return frozenset()
    return frozenset(
        seen.seq
        for seen, at in _told_by(digest)
        if runs[at].verifies and seen.template.startswith("<path>") and _passed_by_edits(runs, at)
    )


def _passed_by_edits(runs: tuple[CommandRun, ...], at: int) -> bool:
    locus = command_locus(runs[at].command)
    attempt = _attempt(runs, at, locus)
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
