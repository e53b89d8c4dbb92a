"""`session-memory status`: one screen with what is stored and whether anything is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.digest import old_digests_text
from session_memory.cli.guard_proposals import proposals_in
from session_memory.cli.output import (
    Meaning,
    columns,
    counted,
    emit_json,
    hanging,
    human_bytes,
    human_time,
    one_line,
    paint,
)
from session_memory.cli.store import reading
from session_memory.cli.wiring import clients, context, wirings
from session_memory.clock import iso
from session_memory.core.jobs import Job, state_of
from session_memory.core.rescan import RescanState
from session_memory.core.retention.plan import StoreUsage
from session_memory.ingest.last_sweep import LastSweep, read_last_sweep
from session_memory.ingest.missing import MissingPart, missing_parts
from session_memory.ingest.no_record import unread_logs
from session_memory.ingest.rules_version import rescan_state, rules_version
from session_memory.install.plan import WiringState
from session_memory.paths import no_directory
from session_memory.settings import Retention
from session_memory.store.damage import known_damage
from session_memory.store.values import Evicted, OldDigests, StoreInfo
from session_memory.worker.spool_files import SpoolFiles

if TYPE_CHECKING:
    from session_memory.store.port import Store

_LIMITS = {"age": "age", "soft": "the soft cap", "hard": "the hard cap"}
ERRORS_SHOWN = 3


class Queue(msgspec.Struct, frozen=True):
    """Work that is waiting."""

    jobs: dict[str, int]
    """State to number, without those that are done."""
    spool: dict[str, int]
    """Records of hooks that wait, and damaged ones that were set aside."""
    undigested: int


class Status(msgspec.Struct, frozen=True):
    """Everything `status` shows."""

    store: StoreInfo
    usage: StoreUsage
    budget: Retention
    share_worktrees: bool
    agents: tuple[WiringState, ...]
    """Of the agents that are on this machine."""
    queue: Queue
    spend: str | None
    """None while no model is turned on."""
    last_sweep: LastSweep | None
    last_error: str | None
    missing_parts: tuple[MissingPart, ...]
    """Parts of logs that were missing when they were read."""
    unread_logs: tuple[str, ...]
    """Files that are named like logs and of which nothing could be read."""
    old_digests: OldDigests
    rescan: RescanState
    """How many sessions of older redaction rules were redacted again."""
    guards: tuple[str, ...]
    """Proposals to switch off guards that are overridden more often than followed."""
    damage: str | None
    """What is wrong with the database; None while nothing is known to be."""
    errors: tuple[str, ...]
    """All that is known to have gone wrong and will be tried again; `last_error` is the first."""


@click.command(name="status")
@json_option
@pass_app
def command(app: App) -> None:
    """Show what is stored, which agents are wired, what is queued, and the last sweep.

    Wired agents run our hooks, which capture a session as it ends, and know our MCP server.
    Raw text goes when it is too much; digests stay. -v shows every error.

    \b
    Examples:
      session-memory status
      session-memory status --json
    """
    status = _read_status(app)
    if app.json:
        emit_json(status)
    else:
        for name, value in _lines(status, app):
            lead = f"{paint(name, 'dim')}{'':{12 - len(name)}}"
            click.echo("\n".join(hanging(lead, value, columns(), _meaning(name, value))))


def _meaning(name: str, value: str) -> Meaning | None:
    if name in ("damaged", "lost") or (name == "last error" and value != "none"):
        return "error"
    return (
        "warn"
        if name in ("incomplete", "unread") or value.startswith(("not wired", "never"))
        else None
    )


def _read_status(app: App) -> Status:
    now, last = app.clock(), read_last_sweep(app.paths.last_sweep)
    with reading(app) as store:
        info, usage, jobs = store.info(), store.raw_usage(), store.jobs.all()
        spend = _spend(app, store, now)
        missing, old_digests = missing_parts(store), store.old_digests()
        rescan = rescan_state(store, rules_version(app.config.redact))
        unread, guards = unread_logs(store), proposals_in(store, app.paths.data)
    errors = (*_place_errors(app.paths.state), *_job_errors(jobs), *_sweep_errors(last))
    states = Counter(state_of(job, now) for job in jobs)
    return Status(
        store=info,
        usage=usage,
        budget=app.config.retention,
        share_worktrees=app.config.identity.share_worktrees,
        agents=_agents(app),
        queue=Queue(
            {state: count for state, count in sorted(states.items()) if state != "done"},
            SpoolFiles(str(app.paths.state / "spool")).counts(),
            info.unanalyzed,
        ),
        spend=spend,
        last_sweep=last,
        last_error=errors[0] if errors else None,
        errors=errors,
        missing_parts=tuple(missing),
        unread_logs=tuple(unread),
        old_digests=old_digests,
        rescan=rescan,
        guards=tuple(guards),
        damage=damage.message if (damage := known_damage(str(app.paths.data))) else None,
    )


def _spend(app: App, store: Store, now_ms: int) -> str | None:
    if app.config.model.provider == "none":
        return None
    from session_memory.cli.spend import status_line  # whoever has a model

    return status_line(app.config.model, store.spend, now_ms)


def _agents(app: App) -> tuple[WiringState, ...]:
    wired = wirings(app)
    return tuple(wired[client.name] for client in clients(context(app), ()) if client.name in wired)


def _place_errors(state: Path) -> Iterator[str]:
    if state.exists() and not state.is_dir():
        yield no_directory(state).message


def _job_errors(jobs: list[Job]) -> Iterator[str]:
    """Of the jobs that failed, the latest first."""
    failed = [job for job in jobs if job.last_error and job.success != job.input]
    failed.sort(key=lambda job: (job.heartbeat_at or job.enqueued_at, job.id), reverse=True)
    return (f"{job.kind}: {job.last_error}" for job in failed)


def _sweep_errors(last: LastSweep | None) -> Iterator[str]:
    """What stopped a sweep, then what the last one could not do."""
    if last is None:
        return
    if last.error:
        yield f"sweep stopped: {last.error} ({iso(last.error_at)})"
    for failure in last.report.get("failed", []):
        put_off = "put off: " if failure.get("deferred") else ""
        yield f"sweep: {put_off}{failure.get('path')}: {failure.get('reason')}"
    for failure in last.report.get("failed_steps", []):
        yield f"sweep: {failure.get('step')}: {failure.get('what')}: {failure.get('reason')}"


def _lines(status: Status, app: App) -> Iterator[tuple[str, str]]:
    info, usage, limits = status.store, status.usage, status.budget
    now, errors_shown = app.clock(), None if app.verbosity else ERRORS_SHOWN
    flavors = ", ".join(f"{one_line(name)} {count:,}" for name, count in info.per_flavor.items())
    if status.damage is not None:
        yield "damaged", f"{one_line(status.damage)}: run `session-memory store repair`"
    yield "agents", _agents_text(status.agents)
    yield "last sweep", _sweep_text(status.last_sweep, now)
    yield "sessions", f"{info.sessions:,} ({flavors})" if flavors else "0"
    files, projects = counted(info.sources, "file"), counted(info.projects, "project")
    yield "events", f"{info.events:,} from {files} in {projects}"
    yield "latest", human_time(info.last_event_at, now)
    soft, hard = human_bytes(limits.raw_soft_cap_bytes), human_bytes(limits.raw_hard_cap_bytes)
    raw = human_bytes(usage.raw_bytes)
    yield "raw text", f"{raw} of {soft}, never over {hard}"
    cap = human_bytes(limits.distilled_cap_bytes)
    yield "digests", f"{human_bytes(usage.distilled_bytes)} of {cap}"
    if info.evicted:
        yield "evicted", _evicted_text(info.evicted)
    if old := old_digests_text(status.old_digests):
        yield "old digests", old
    if not status.rescan.finished and status.rescan.sessions:
        yield "redaction", _rescan_text(status.rescan)
    if info.lost_sessions:
        lost = f"raw text of {info.lost_sessions} sessions, before it was distilled"
        yield "lost", f"{lost}: a sweep reads their logs again, where they still exist"
    database, texts = human_bytes(info.database_bytes), human_bytes(info.segment_bytes)
    yield "on disk", f"{database} database, {texts} texts in {one_line(info.path)}"
    if app.verbosity or not status.share_worktrees:
        share = "share their repository's project" if status.share_worktrees else "stand alone"
        yield "worktrees", share
    yield "queue", _queue_text(status.queue)
    for part in status.missing_parts:
        yield "incomplete", one_line(part.description)
    if status.unread_logs:
        yield "unread", _unread_text(status.unread_logs)
    if info.superseded_events:
        yield "history", f"{info.superseded_events} events of logs rewritten since"
    for proposal in status.guards:
        yield "guard", one_line(proposal)
    if status.spend is not None:
        yield "spend", status.spend
    for number, error in enumerate(status.errors[:errors_shown]):
        yield "" if number else "last error", one_line(error)
    if errors_shown is not None and len(status.errors) > errors_shown:
        yield "", f"and {len(status.errors) - errors_shown} more: `session-memory status -v`"
    if not status.errors:
        yield "last error", "none"


def _unread_text(logs: tuple[str, ...]) -> str:
    count = "1 log" if len(logs) == 1 else f"{len(logs)} logs"
    return f"{count}, such as {one_line(logs[0])}: `session-memory doctor` names each"


def _rescan_text(rescan: RescanState) -> str:
    done = f"{rescan.done:,} of {rescan.sessions:,} sessions looked at again by newer rules"
    return f"{done}: sweeps go on with it, or `session-memory store secrets rescan`"


def _evicted_text(evicted: tuple[Evicted, ...]) -> str:
    parts = [
        f"{item.sessions} by {_LIMITS.get(item.reason, item.reason)} ({human_bytes(item.bytes)})"
        for item in evicted
    ]
    last = (iso(max(item.last_at for item in evicted)) or "")[:10]
    return f"raw text of sessions: {', '.join(parts)}; last on {last}"


def _agents_text(agents: tuple[WiringState, ...]) -> str:
    if not agents:
        return "none found: `session-memory config agents` shows where we looked"
    wired = [agent for agent in agents if {agent.hooks, agent.mcp} - {None, "absent"}]
    parts = [f"{a.agent} (hooks {a.hooks or '-'}, mcp {a.mcp or '-'})" for a in wired]
    if rest := [agent.agent for agent in agents if agent not in wired]:
        parts.append(f"not wired: {', '.join(rest)} (`session-memory init`)")
    return ", ".join(parts)


def _queue_text(queue: Queue) -> str:
    parts = [f"{counted(count, 'job')} {state}" for state, count in queue.jobs.items()]
    spool = {state: count for state, count in queue.spool.items() if count}
    parts += [f"{counted(count, 'hook record')} {state}" for state, count in spool.items()]
    if queue.undigested:
        sessions = counted(queue.undigested, "session")
        parts.append(f"{sessions} still without a digest: run a sweep")
    return ", ".join(parts) or "empty"


def _sweep_text(last: LastSweep | None, now: int) -> str:
    if last is None or not last.finished_at:
        return "never"
    report: dict[str, Any] = last.report
    failed: list[Any] = report.get("failed", [])
    steps: list[Any] = report.get("failed_steps", [])
    problems = f", {counted(len(failed), 'file')} not read" if failed else ""
    problems += f", {len(steps)} steps failed" if steps else ""
    unknown: dict[str, int] = report.get("unknown", {})
    if unknown:
        problems += f", {counted(sum(unknown.values()), 'record')} of unknown type"
    return (
        f"{human_time(last.finished_at, now)}: {report.get('ingested', 0):,} files read,"
        f" {report.get('skipped_unchanged', 0):,} unchanged{problems}"
    )
