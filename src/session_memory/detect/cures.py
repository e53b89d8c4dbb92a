"""The cures of a digest as signals: which error, what helped, and where that was seen."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from session_memory.core.schema import Cure
from session_memory.detect.digest_view import DigestView
from session_memory.detect.loci import cached_error_locus, command_locus, path_locus

EDIT = "edit "
"""How the locus of a cure by editing begins."""
_SHELLS = frozenset(("bash", "shell", "exec_command", "run_shell_command", "run_terminal_cmd"))


class CureSignal(msgspec.Struct, frozen=True, gc=False):
    """What helped against a problem once."""

    problem: str
    """The locus of the error or, without one, of the command that failed."""
    locus: str
    command: str
    """As it was typed."""
    seq: int


def is_shell(tool: str | None) -> bool:
    """Whether a tool runs commands; unknown ones are taken for shells."""
    return tool is None or tool.lower() in _SHELLS


def cure_signals(view: DigestView) -> Iterator[CureSignal]:
    """Every cure whose problem and remedy can be named alike in other sessions."""
    for cure in view.digest.cures:
        named = cached_error_locus(cure.sample, cure.error)[1]
        problem = named or cure.error or command_locus(cure.failed)
        locus = _locus(cure, view.project.roots)
        if problem and locus:
            yield CureSignal(problem, locus, "; ".join(cure.steps), cure.step_seqs[-1])


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
