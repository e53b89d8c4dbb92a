"""`session-memory` alone: what is here, what waits for the user, and three things to type next."""

from __future__ import annotations

from collections.abc import Iterator

import click
import msgspec

from session_memory.cli.app import App
from session_memory.cli.output import columns, emit_json, hanging, human_bytes, human_time, one_line
from session_memory.cli.store import reading
from session_memory.core.jobs import state_of
from session_memory.core.pauses import is_paused
from session_memory.ingest.last_sweep import LastSweep, read_last_sweep
from session_memory.ingest.pauses import read_pauses
from session_memory.store import store_exists
from session_memory.store.damage import known_damage


class Step(msgspec.Struct, frozen=True):
    """A command, and what it is good for."""

    command: str
    what: str


class Overview(msgspec.Struct, frozen=True):
    """The first screen as data."""

    sessions: int = 0
    agents: dict[str, int] = {}
    projects: int = 0
    last_event_at: int | None = None
    last_sweep_at: int | None = None
    bytes: int = 0
    waits: tuple[Step, ...] = ()
    next: tuple[Step, ...] = ()


_BEGIN = (
    Step("session-memory init", "connect the agents found here; shows what changes, asks"),
    Step("session-memory sweep", "or only read their logs; nothing of theirs changes"),
    Step("session-memory help", "what the words mean"),
)
_EVERY_DAY = (
    Step("session-memory search WORDS", "find what was said or run"),
    Step("session-memory rules", "what recurs, and is worth telling every agent"),
    Step("session-memory --help", "all commands"),
)


def show_overview(app: App) -> None:
    """Print the first screen."""
    overview = read_overview(app)
    if app.json:
        emit_json(overview)
    else:
        click.echo("\n".join(_lines(overview, app.clock(), hints=not app.quiet)))


def read_overview(app: App) -> Overview:
    """What the first screen shows; reads small tables and files only."""
    if not store_exists(app.paths.data):
        return Overview(next=_BEGIN)
    if (damage := known_damage(str(app.paths.data))) is not None:
        broken = Step("session-memory store repair", f"the store is damaged: {damage.message}")
        return Overview(waits=(broken,), next=_EVERY_DAY)
    now, last = app.clock(), read_last_sweep(app.paths.last_sweep)
    with reading(app) as store:
        info = store.info()
        failed = sum(state_of(job, now) == "failed" for job in store.jobs.all())
    return Overview(
        sessions=info.sessions,
        agents=info.per_flavor,
        projects=info.projects,
        last_event_at=info.last_event_at,
        last_sweep_at=(last.finished_at or None) if last else None,
        bytes=info.database_bytes + info.segment_bytes,
        waits=(*_waits(app, failed, now), *_failed_sweep(last)),
        next=_EVERY_DAY if info.sessions else _BEGIN,
    )


def _waits(app: App, failed: int, now: int) -> Iterator[Step]:
    from session_memory.curate.catalog import read_catalog

    if is_paused(read_pauses(str(app.paths.data)), now):
        yield Step("session-memory resume", "capture is paused")
    catalog = read_catalog(app.paths.data)
    undecided = sum(catalog.status(name) == "candidate" for name in catalog.proposals)
    if undecided:
        await_ = "rule awaits" if undecided == 1 else "rules await"
        yield Step("session-memory rules review", f"{undecided} {await_} your decision")
    if failed:
        yield Step("session-memory jobs", f"{failed} background job{'s' * (failed != 1)} failed")


def _failed_sweep(last: LastSweep | None) -> Iterator[Step]:
    if last is None:
        return
    if last.error:
        yield Step("session-memory doctor", f"the last sweep stopped: {last.error}")
    if failed := len(last.report.get("failed", [])) + len(last.report.get("failed_steps", [])):
        problems = "problem" if failed == 1 else "problems"
        yield Step("session-memory status", f"the last sweep met {failed} {problems}")


def _lines(overview: Overview, now: int, *, hints: bool) -> Iterator[str]:
    if not overview.last_sweep_at and not overview.sessions:
        yield "session-memory keeps what your coding agents did, on this machine only."
        if not overview.waits:
            yield "Nothing is stored yet."
    else:
        agents = ", ".join(f"{one_line(name)} {n:,}" for name, n in overview.agents.items())
        yield f"{overview.sessions:,} sessions ({agents}) in {overview.projects:,} projects"
        yield f"last sweep  {human_time(overview.last_sweep_at, now)}"
        yield f"on disk     {human_bytes(overview.bytes)}"
    if overview.waits:
        yield "\nWaits for you"
        yield from _steps(overview.waits)
    if not hints:
        return
    yield "\nBegin with" if overview.next == _BEGIN else "\nTry"
    yield from _steps(overview.next)


def _steps(steps: tuple[Step, ...]) -> Iterator[str]:
    width = max(len(step.command) for step in steps)
    for step in steps:
        yield from hanging(f"  {step.command:<{width}}  ", one_line(step.what), columns())
