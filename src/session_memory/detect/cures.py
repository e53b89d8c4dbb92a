"""What was done between a failure and the next try: the command that may have cured it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

import msgspec

from session_memory.core.schema import CommandRun, Digest
from session_memory.detect.digest_view import REACH, DigestView
from session_memory.detect.loci import command_locus

_SHELLS = frozenset(("bash", "shell", "exec_command", "run_shell_command", "run_terminal_cmd"))


class CureAttempt(msgspec.Struct, frozen=True, gc=False):
    """A command that was run after a failure, before the next try."""

    problem: str
    """The locus of the error or, without one, of the command that failed."""
    index: int
    """Of the command among those of the digest."""
    worked: bool
    """Whether the next try passed."""


def is_shell(tool: str | None) -> bool:
    """Whether a tool runs commands; unknown ones are taken for shells."""
    return tool is None or tool.lower() in _SHELLS


def cure_attempts(view: DigestView) -> Iterator[CureAttempt]:
    """One attempt for each failure; where an edit was the cure there is no command to name."""
    if not view.failed:
        return
    runs, loci = view.digest.commands, view.loci
    problems = _problems(view)
    problem_of: dict[str, str] = {}
    for index in view.failed:
        if locus := loci[index]:
            # An error is kept where it first occurred; the same command later fails with the same.
            problem = problem_of[locus] = problems.get(index) or problem_of.get(locus) or locus
            attempt = _attempt(runs, index, locus, loci)
            if attempt is not None:
                yield CureAttempt(problem, *attempt)


def _attempt(
    runs: tuple[CommandRun, ...], failed: int, locus: str, loci: list[str]
) -> tuple[int, bool] | None:
    """(index of the last command that did something before the next try, whether that passed)."""
    after = failed + 1
    if after >= len(runs) or loci[after] == locus:
        return None  # nothing came between
    if (
        loci[after]
        and not runs[after].is_error
        and _is_variant(runs[failed].command, runs[after].command)
    ):
        return after, True
    if not locus or locus not in (reach := loci[after : after + REACH]):
        return None
    again = after + reach.index(locus)
    for index in range(again - 1, failed, -1):
        if loci[index] and not runs[index].is_error:
            return None if runs[index].verifies else (index, not runs[again].is_error)
    return None


def _is_variant(failed: str, other: str) -> bool:
    """Whether a command is another form of the failed one: `python x.py`, then `python3 x.py`."""
    one, two = set(failed.split()[1:]), set(other.split()[1:])
    shared, first, second = len(one & two), len(one), len(two)
    half = first <= shared * 2 >= second
    return shared > 0 and (half or shared in (first, second))


def settled_by_edits(view: DigestView) -> frozenset[int]:
    """Findings of a check, by event, that were gone once the code they name was edited.

    That is what a check is for. One that a command settled is kept: there is a lesson in it.
    """
    digest = view.digest
    names_file = [error.template[:6] == "<path>" for error in digest.errors]
    if True not in names_file:  # spares most sessions the rest
        return frozenset()
    runs = digest.commands
    return frozenset(
        digest.errors[error].seq
        for error, run in _errors_of_runs(digest)
        if names_file[error] and runs[run].verifies and _passed_by_edits(view, run)
    )


def _passed_by_edits(view: DigestView, failed: int) -> bool:
    runs = view.digest.commands
    locus = command_locus(runs[failed].command)
    attempt = _attempt(runs, failed, locus, view.loci)
    return not (attempt and attempt[1]) and any(
        not run.is_error and not run.denied and command_locus(run.command) == locus
        for run in runs[failed + 1 :]
    )


def _problems(view: DigestView) -> dict[int, str]:
    """The locus of the first error of each failed run, by the run's index."""
    errors = view.digest.errors
    first: dict[int, int] = {}
    for error, run in _errors_of_runs(view.digest):
        known = first.get(run)
        if known is None or errors[error].seq < errors[known].seq:
            first[run] = error
    return {run: view.error_loci[error][1] for run, error in first.items()}


def _errors_of_runs(digest: Digest) -> Iterator[tuple[int, int]]:
    """(error, failed run it came from) for each error of a shell, both as indexes."""
    runs = digest.commands
    seqs = [run.seq for run in runs]
    ordered, order = sorted(seqs), range(len(seqs))
    if ordered != seqs:
        order = sorted(order, key=seqs.__getitem__)
    for index, error in enumerate(digest.errors):
        before = bisect_left(ordered, error.seq)
        if before and runs[order[before - 1]].is_error and is_shell(error.tool):
            yield index, order[before - 1]
