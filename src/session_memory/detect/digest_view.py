"""A digest as the extractors read it: its commands told apart and named once for all of them."""

from __future__ import annotations

import msgspec

from session_memory.core.loop.patterns import SignalType
from session_memory.core.schema import Digest
from session_memory.detect.loci import command_locus, trouble

REACH = 12
"""Commands between a failure and the next try; more is another story."""


class Place(msgspec.Struct, frozen=True, gc=False):
    """Where a session ran: what makes its paths comparable with those of others."""

    repo: str = ""
    """'' where the session ran outside of any: what is said of a repository is then not said."""
    roots: tuple[str, ...] = ()


class Story(msgspec.Struct, frozen=True, gc=False):
    """What more than one extractor asks of a digest."""

    digest: Digest
    place: Place
    calls: int
    """Tool calls in all."""
    loci: list[str]
    """One for each command; '' where it never ran, only looks, or nothing is asked of it."""
    failed: list[int]
    """Places of the commands that failed."""
    passed: list[int]
    """Places of the checks that passed."""
    denied: list[int]
    troubles: list[tuple[str, SignalType, str]]
    """What each error tells of."""


def read(digest: Digest, place: Place) -> Story:
    """Commands are named only if they check something or follow a failure: names are dear."""
    loci: list[str] = []
    failed: list[int] = []
    passed: list[int] = []
    denied: list[int] = []
    reach = -1
    for at, run in enumerate(digest.commands):
        if run.is_error:
            reach = at + REACH
        if run.denied:
            denied.append(at)
            loci.append("")
            continue
        loci.append(command_locus(run.command) if at <= reach or run.verifies else "")
        if run.is_error:
            failed.append(at)
        elif run.verifies:
            passed.append(at)
    calls = sum(digest.tools.values())
    troubles = [trouble(seen.sample, seen.template) for seen in digest.errors]
    return Story(digest, place, calls, loci, failed, passed, denied, troubles)
