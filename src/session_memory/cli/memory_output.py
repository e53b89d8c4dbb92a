"""How memory is told: plans, reports, pages and evidence, for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import click

from session_memory.cli.app import App
from session_memory.cli.output import emit_json, one_line, safe
from session_memory.cli.session_argument import named, names
from session_memory.clock import iso
from session_memory.core.jobs import state_of
from session_memory.memory.consolidate import Done
from session_memory.memory.evidence import Evidence
from session_memory.memory.extract import Report
from session_memory.memory.layout import MEMORY, SUMMARY
from session_memory.memory.log import read_log
from session_memory.memory.session_material import Candidate
from session_memory.store.memories import Trace
from session_memory.store.port import MemoryStore

SHOWN = 10


def tell_plan(app: App, plan: Sequence[Candidate]) -> None:
    """Sessions that would be read."""
    if app.json:
        emit_json({"dry_run": True, "candidates": [_candidate(one) for one in plan]})
        return
    for one in plan:
        click.echo(f"{named(one.session)}  {one_line(one.root)}")
    click.echo(f"{len(plan)} sessions would be read; dry run: nothing was changed")


def _candidate(one: Candidate) -> dict[str, object]:
    updated_at = iso(one.session.ended_at)
    return {**names(one.session), "root": one.root, "updated_at": updated_at}


def tell_report(app: App, report: Report) -> None:
    """What a pass did."""
    if app.json:
        emit_json(report)
        return
    for path in report.written:
        click.echo(safe(path))
    for one in report.shortened:
        shown = f"the model was shown {one.shown_bytes} of {one.of_bytes} bytes"
        app.warn(f"{one.session} is long: {shown}, from its beginning and its end")
    put_off = [one for one in report.dropped if one.deferred]
    failed = [one for one in report.dropped if not one.final and not one.deferred]
    for one in failed:
        app.warn(f"{one.session}: {one.reason}")
    if put_off:
        app.warn(f"{len(put_off)} sessions stay due: {put_off[0].reason}")
    worthless = len(report.dropped) - len(failed) - len(put_off)
    how = f"with {report.model}" if report.model else "without a model"
    click.echo(
        f"{report.candidates} sessions read {how}: {len(report.written)} traces in"
        f" {len(report.touched)} projects, {worthless} worth none, {len(failed)} failed,"
        f" {len(put_off)} put off"
    )


def tell_consolidated(app: App, found: Sequence[Done], *, dry_run: bool = False) -> None:
    """What became of each place."""
    if app.json:
        emit_json({"dry_run": dry_run, "consolidated": list(found)})
        return
    if dry_run:
        for one in found:
            click.echo(one_line(one.root))
        click.echo(f"{len(found)} memories would be made; dry run: nothing was changed")
        return
    for one in found:
        why = f": {one_line(one.reason)}" if one.reason else ""
        click.echo(f"{one.status:<9}  {one_line(one.root)}{why}")


def tell_memory(
    app: App, folder: Path, root: str, traces: Sequence[Trace], *, whole: bool = True
) -> None:
    """One trace whole, or a project's memory with its traces in one line each."""
    if app.json:
        page = (
            {} if whole else {"memory": _page(folder / MEMORY), "summary": _page(folder / SUMMARY)}
        )
        emit_json({"root": root, "folder": str(folder), **page, "traces": list(traces)})
        return
    if whole:
        click.echo(safe(traces[0].trace_summary))
        return
    page = _page(folder / MEMORY)
    if page:
        click.echo(safe(page))  # it lists the traces it was made of
        return
    for trace in traces:
        when = (iso(trace.updated_at) or "-")[:10]
        click.echo(f"{when}  {trace.session_id:>5}  {one_line(trace.memory_summary)}")


def _page(path: Path) -> str | None:
    if path.is_symlink() or not path.is_file():
        return None
    return path.read_text(encoding="utf-8", errors="replace")


def tell_status(app: App, store: MemoryStore, due: Sequence[Candidate]) -> None:
    """What there is, what is due, what was worth nothing and why, what went wrong."""
    roots = store.memories.roots()
    passed = Counter(one.reason for one in store.memories.passed_over())
    jobs = [job for job in store.jobs.all() if job.kind.startswith("memory.")]
    warnings = [line for line in read_log(app.paths.logs) if line.get("level") == "warning"]
    if app.json:
        emit_json(
            {
                "enabled": app.config.memory.enabled,
                "model": app.config.model.provider,
                "roots": roots,
                "due": [_candidate(one) for one in due],
                "worth_none": dict(passed),
                "jobs": jobs,
                "locks": store.memories.held(),
                "warnings": warnings[-SHOWN:],
            }
        )
        return
    if not app.config.memory.enabled:
        click.echo("turned off (`memory.enabled`)")
    click.echo(f"{sum(roots.values())} traces in {len(roots)} projects")
    for root, count in roots.items():
        click.echo(f"  {count:>4}  {one_line(root)}")
    each = app.config.memory.max_sessions_per_start
    when = f"{each} at each session start, or `memory extract --now`" if due else "nothing to do"
    click.echo(f"{len(due)} sessions are due ({when})")
    known = store.memories.known()
    for one in due[:SHOWN]:
        why = "grew since it was read" if one.session.id in known else "not read yet"
        click.echo(f"  {named(one.session)}  {why}  {one_line(one.root)}")
    for reason, count in passed.most_common():
        click.echo(f"{count} sessions left nothing: {one_line(reason)}")
    for held in store.memories.held():
        since = iso(held.updated_at) or "-"
        click.echo(f"locked by {one_line(held.owner)} since {since}: {one_line(held.root)}")
    for job in jobs:
        state = state_of(job, app.clock())
        why = f": {one_line(job.last_error)}" if job.last_error else ""
        click.echo(f"{job.kind} {one_line(job.key)} is {state}{why}")
    for line in warnings[-SHOWN:]:
        told = "  ".join(f"{name}={value}" for name, value in line.items() if name != "level")
        click.echo(f"warning: {one_line(told)}")


def tell_evidence(app: App, found: Sequence[Evidence]) -> None:
    """Lines with the events behind them."""
    if app.json:
        emit_json({"evidence": list(found)})
        return
    for one in found:
        click.echo(one.line)
        click.echo(f"  session {one.session_id} {one_line(one.session)}, {one_line(one.root)}")
        for quote in one.quotes:
            click.echo(f"  [e:{quote.event}] {quote.at or '-'} {quote.kind}: {quote.text}")
        if not one.quotes:
            click.echo("  its raw text is no longer kept")
