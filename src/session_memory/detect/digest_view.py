"""A digest as the extractors read it: commands sorted by outcome, loci computed once."""

from __future__ import annotations

import msgspec

from session_memory.core.loop.patterns import SignalType
from session_memory.core.schema import Digest
from session_memory.detect.loci import cached_error_locus, command_locus

REACH = 12
"""How many commands after a failure may belong to it."""


class SessionProject(msgspec.Struct, frozen=True, gc=False):
    """The project of a session: makes its paths comparable with those of other sessions."""

    repo: str = ""
    """'' where the session ran outside of any repository; signals about one are then dropped."""
    roots: tuple[str, ...] = ()


class DigestView(msgspec.Struct, frozen=True, gc=False):
    """What more than one extractor needs of a digest; commands are named by their index."""

    digest: Digest
    project: SessionProject
    calls: int
    """Tool calls in all."""
    loci: list[str]
    """One for each command; '' where it never ran, only looks, or no extractor needs it."""
    failed: list[int]
    passed: list[int]
    """Checks that passed."""
    denied: list[int]
    error_loci: list[tuple[SignalType, str]]
    """One for each error."""


def view_digest(digest: Digest, project: SessionProject) -> DigestView:
    """Only checks and commands near a failure get a locus: computing one is expensive."""
    loci: list[str] = []
    failed: list[int] = []
    passed: list[int] = []
    denied: list[int] = []
    reach = -1
    for index, run in enumerate(digest.commands):
        if run.is_error:
            reach = index + REACH
        if run.denied:
            denied.append(index)
            loci.append("")
            continue
        loci.append(command_locus(run.command) if index <= reach or run.is_check else "")
        if run.is_error:
            failed.append(index)
        elif run.is_check:
            passed.append(index)
    return DigestView(
        digest,
        project,
        calls=sum(digest.tools.values()),
        loci=loci,
        failed=failed,
        passed=passed,
        denied=denied,
        error_loci=[cached_error_locus(error.sample, error.template) for error in digest.errors],
    )
