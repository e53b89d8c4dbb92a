"""`session-memory store retention`: show what the byte budget would evict and why, or evict it."""

from __future__ import annotations

import sys

import click

from session_memory.cli.app import (
    App,
    VerbGroup,
    confirm_or_leave,
    json_option,
    long_output,
    pass_app,
    yes_option,
)
from session_memory.cli.options import option
from session_memory.cli.output import emit_json, fit, human_bytes, one_line, paint
from session_memory.cli.store import changing, reading
from session_memory.core.retention.explain import explain
from session_memory.core.retention.plan import EvictionPlan
from session_memory.errors import EXIT_OK, EXIT_WARNINGS, Refused
from session_memory.ingest.report import RetentionLine
from session_memory.ingest.retention import apply_plan, expected_plan, make_plan

SHOWN = 20


@click.group(cls=VerbGroup, name="retention")
def command() -> None:
    """Show or apply the byte budget.

    \b
    Examples:
      session-memory store retention plan
      session-memory store retention apply --yes
    """


@command.command()
@option("--all", "everything", is_flag=True, help=f"All of them, not only {SHOWN}.")
@json_option
@pass_app
@long_output
def plan(app: App, everything: bool) -> None:
    """Show what `store retention apply` would evict now, with the reason for each session.

    \b
    Examples:
      session-memory store retention plan
      session-memory store retention plan --json
    """
    with reading(app) as store:
        eviction_plan = expected_plan(store, app.config.retention, app.clock())
        waiting = len(store.unanalyzed())
    if app.json:
        emit_json(eviction_plan)
        return
    click.echo("\n".join(_lines(eviction_plan, None if everything else SHOWN)))
    if waiting:
        click.echo(f"{waiting} sessions have no digest yet: it is made before anything is evicted")


@command.command()
@yes_option
@json_option
@pass_app
def apply(app: App, yes: bool) -> int:
    """Make missing digests, then evict raw text as planned.

    Digests, costs and sessions stay; raw text cannot be brought back. Exit code 3 means that raw
    text was evicted without a digest: data_loss lists its sessions.

    \b
    Examples:
      session-memory store retention apply --yes
    """
    from session_memory.distil.sessions import distil_waiting  # 50 ms that an idle sweep saves

    with changing(app, "a sweep") as store:
        undistilled = distil_waiting(store)
        eviction_plan = make_plan(store, app.config.retention, app.clock())
        if eviction_plan.evictions and not yes:
            _ask(eviction_plan)
        orphans = store.sweep_orphans()
        line = apply_plan(store, eviction_plan, app.clock())
    if app.json:
        emit_json({"retention": line, "undistilled": undistilled, "orphans_removed": orphans})
    else:
        for name, reason in undistilled.items():
            click.echo(f"undistilled {one_line(name)}: {one_line(reason)}")
        click.echo("\n".join(done_lines(line)))
        if orphans:
            click.echo(f"orphans    {orphans} files without a session removed")
    return EXIT_WARNINGS if line.data_loss else EXIT_OK


def done_lines(line: RetentionLine) -> list[str]:
    """What eviction did: in all, then how much went for which reason, and what was lost."""
    passes = f"age {line.age}, soft {line.soft}, hard {line.hard}"
    usage = f"final_usage {human_bytes(line.final_usage)}"
    lines = [f"evict      freed {human_bytes(line.freed)}, {usage}, {passes}"]
    lines += [
        f"evicted    {group.sessions} sessions, {human_bytes(group.bytes)} of raw text: {group.why}"
        for group in line.evicted
    ]
    if line.data_loss:
        lines.append(
            f"data_loss  {len(line.data_loss)} sessions, {human_bytes(line.data_loss_bytes)},"
            f" had no digest: {', '.join(one_line(name) for name in line.data_loss)}"
        )
        lines.append("           the next sweep reads their logs again, where they still exist")
    return [*lines, *(f"alert      {alert}" for alert in line.alerts)]


def _ask(eviction_plan: EvictionPlan) -> None:
    click.echo("\n".join(_lines(eviction_plan, SHOWN)), err=True)
    if not sys.stdin.isatty():
        raise Refused("raw text would be evicted", hint="add --yes to skip this question")
    confirm_or_leave("Evict?", "nothing was evicted")


def _lines(plan: EvictionPlan, limit: int | None) -> list[str]:
    before, after = plan.usage_before.raw_bytes, plan.usage_after.raw_bytes
    shown = plan.evictions[:limit]
    more = len(plan.evictions) - len(shown)
    if not plan.evictions and not plan.alerts:
        return [f"nothing to evict: {human_bytes(before)} of raw text are within the limits"]
    return [
        *(fit(one_line(explain(eviction, plan.policy))) for eviction in shown),
        *([f"{more:,} more: `session-memory store retention plan --all`"] if more else []),
        *(paint(f"alert: {alert}", "warn") for alert in plan.alerts),
        f"{len(plan.evictions):,} sessions to evict: {human_bytes(before)} -> {human_bytes(after)}",
    ]
