"""`session-memory show --digest`: what is kept of a session after its raw text is evicted."""

from __future__ import annotations

from collections.abc import Iterator

import click

from session_memory.cli.app import App
from session_memory.cli.output import columns, emit_json, hanging, one_line
from session_memory.cli.session_argument import named, names
from session_memory.cli.store import reading
from session_memory.core.digest import DIGEST_VERSION
from session_memory.core.schema import Digest, Session
from session_memory.errors import NotFound
from session_memory.store.values import OldDigests

SHOWN = 15
LABEL = 11


def show_digest(app: App, session: str) -> None:
    """Print the digest of a session: objective, outcome, commands, errors and cost."""
    with reading(app) as store:
        stored = store.find_session(session)
        digest, evicted = store.digest(stored.id), store.evicted_digest(stored.id) is not None
    if digest is None:
        raise NotFound(
            f"session {named(stored)} has no digest yet", hint="run `session-memory sweep`"
        )
    if app.json:
        old = digest.version < DIGEST_VERSION
        emit_json({**names(stored), "digest": digest, "old_version": old})
        return
    for line in (*_lines(stored, digest), *_version(digest, evicted=evicted)):
        click.echo("\n".join(hanging(line[:LABEL], line[LABEL:], columns())))


def _lines(session: Session, digest: Digest) -> Iterator[str]:
    yield f"session    {named(session)}"
    yield f"objective  {one_line(digest.objective or '-')}"
    yield f"outcome    {digest.outcome} ({digest.confidence}, {digest.basis})"
    yield f"task       {digest.task}, {digest.ended}"
    yield from (f"           {one_line(ground)}" for ground in digest.grounds)
    minutes = "-" if digest.duration_s is None else f"{digest.duration_s / 60:.0f} min"
    yield f"work       {digest.events} events, {digest.turns} turns, {minutes}"
    tests = f"{digest.tests_run} test runs, {digest.tests_failed} failed"
    yield f"checks     {tests}; {digest.retries} retries, {digest.interruptions} interruptions"
    if digest.tools:
        tools = sorted(digest.tools.items(), key=lambda item: (-item[1], item[0]))
        yield "tools      " + one_line(", ".join(f"{name} {n}" for name, n in tools[:SHOWN]))
    edited = [path for path, edits in digest.files.items() if edits]
    yield from _listed("edited", edited)
    yield from _listed(
        "commands",
        [f"{'?' if run.exit is None else run.exit:>3}  {run.command}" for run in digest.commands],
    )
    yield from _listed("errors", [f"{seen.count}x {seen.template}" for seen in digest.errors])
    yield from _listed("corrected", list(digest.corrections))
    yield from _listed("decisions", list(digest.decisions))
    yield from _listed("open", list(digest.open_items))


def _version(digest: Digest, *, evicted: bool) -> Iterator[str]:
    """A line for a digest that an older version of the program made."""
    if digest.version < DIGEST_VERSION:
        fate = "its raw text was evicted, so it stays" if evicted else "a sweep distils it again"
        yield f"version    {digest.version} (now {DIGEST_VERSION}): {fate}"


def old_digests_text(old: OldDigests) -> str:
    """How many digests an older version of the program made, and what becomes of them."""
    parts: list[str] = []
    if old.waiting:
        parts.append(f"{old.waiting} wait: sweeps distil them again")
    if old.kept:
        parts.append(f"{old.kept} stay as an older version made them: their raw text was evicted")
    return "; ".join(parts)


def _listed(name: str, items: list[str]) -> Iterator[str]:
    for index, item in enumerate(items[:SHOWN]):
        yield f"{name if index == 0 else '':<10} {one_line(item)[:160]}"
    if len(items) > SHOWN:
        yield f"{'':<10} and {len(items) - SHOWN} more; --json has all"
