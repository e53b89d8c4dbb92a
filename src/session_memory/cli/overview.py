"""`session-memory` alone: what is here, what waits for the user, and three things to type next."""

from __future__ import annotations

from collections.abc import Iterator

import click

from session_memory.cli.app import App
from session_memory.cli.output import (
    columns,
    counted,
    emit_json,
    fit,
    hanging,
    human_bytes,
    human_time,
    one_line,
    paint,
)
from session_memory.cli.store import reading
from session_memory.overview import BEGIN, Overview, Step, read_overview


def show_overview(app: App) -> None:
    """Print the first screen."""
    overview = read_overview(app.paths, app.clock(), lambda: reading(app), app.config.curate)
    if app.json:
        emit_json(overview)
    else:
        click.echo("\n".join(_lines(overview, app.clock(), hints=not app.quiet)))


def _lines(overview: Overview, now: int, *, hints: bool) -> Iterator[str]:
    if not overview.last_sweep_at and not overview.sessions:
        yield "session-memory keeps what your coding agents did, on this machine only."
        if not overview.waits:
            yield "Nothing is stored yet."
    else:
        agents = ", ".join(f"{one_line(name)} {n:,}" for name, n in overview.agents.items())
        yield fit(_counts(overview, agents))
        yield f"last sweep  {human_time(overview.last_sweep_at, now)}"
        yield f"on disk     {human_bytes(overview.bytes)}"
    if overview.waits:
        yield "\n" + paint("Waits for you", "warn")
        yield from _steps(overview.waits)
    if not hints:
        return
    yield "\n" + paint("Begin with" if overview.next == BEGIN else "Try", "strong")
    yield from _steps(overview.next)


def _counts(overview: Overview, agents: str) -> str:
    if not overview.sessions:
        return "no sessions are stored"
    sessions, projects = counted(overview.sessions, "session"), overview.projects
    return f"{sessions} ({agents}) in {counted(projects, 'project')}"


def _steps(steps: tuple[Step, ...]) -> Iterator[str]:
    width = max(len(step.command) for step in steps)
    for step in steps:
        yield from hanging(f"  {step.command:<{width}}  ", one_line(step.what), columns(), "dim")
