"""The cures of a digest as signals: which error, what helped, and where that was seen."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from session_memory.core.schema import Cure
from session_memory.detect.digest_view import DigestView
from session_memory.detect.loci import cached_error_locus, command_locus, path_locus
from session_memory.detect.remedies import remedy_of

EDIT = "edit "
"""How the locus of a cure by editing begins."""
_MOST_CALLS = 20
_EVENTS_OF_CALL = 2  # a call and its result
_SHELLS = frozenset(("bash", "shell", "exec_command", "run_shell_command", "run_terminal_cmd"))


class CureSignal(msgspec.Struct, frozen=True, gc=False):
    """One change that solved a problem."""

    problem: str
    """The locus of the error or, without one, of the command that failed."""
    locus: str
    command: str
    """As it was typed."""
    seq: int
    calls: int
    """How many calls it took from the failure to the call that worked."""
    rule: str
    """What to do from now on; '' where it holds for that occasion only."""


def is_shell(tool: str | None) -> bool:
    """Whether a tool runs commands; unknown ones are taken for shells."""
    return tool is None or tool.lower() in _SHELLS


def cure_signals(view: DigestView) -> Iterator[CureSignal]:
    """Every cure whose problem and remedy can be named alike in other sessions."""
    for cure in view.digest.cures:
        named = cached_error_locus(cure.sample, cure.error)[1]
        problem = named or cure.error or command_locus(cure.failed)
        remedy = remedy_of(cure, view.project.roots)
        locus = remedy.locus if remedy else _locus(cure, view.project.roots)
        if problem and locus:
            calls = min(_MOST_CALLS, max(1, (cure.proof_seq - cure.error_seq) // _EVENTS_OF_CALL))
            command, seq = "; ".join(cure.steps), cure.step_seqs[-1]
            yield CureSignal(problem, locus, command, seq, calls, remedy.rule if remedy else "")


def _locus(cure: Cure, roots: tuple[str, ...]) -> str:
    last = cure.steps[-1]
    if cure.kind == "edit":
        return EDIT + path_locus(last.partition(" ")[2], roots)
    return command_locus(last)


def settled_by_edits(view: DigestView) -> frozenset[int]:
    """Findings of a check, by event, that were gone once the code was edited.

    That is what a check is for. One that a command settled is kept: there is a lesson in it.
    """
    return frozenset(cure.error_seq for cure in view.digest.cures if cure.kind == "edit")
