"""`session-memory status`: one screen that says what is stored and whether all is well."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json, human_bytes, human_time, one_line
from session_memory.cli.stores import reading


@click.command(name="status")
@json_option
@pass_app
def command(app: App) -> None:
    """What is stored, how much, and how the last sweep went."""
    with reading(app) as store:
        info, usage = store.info(), store.raw_usage()
    last = _last_sweep(app)
    limits = app.config.retention
    if app.json:
        emit_json(
            {
                "store": info,
                "usage": usage,
                "budget": limits,
                "share_worktrees": app.config.identity.share_worktrees,
                "last_sweep": last,
            }
        )
        return
    now = app.clock()
    flavors = ", ".join(f"{one_line(name)} {count}" for name, count in info.per_flavor.items())
    worktrees = "share" if app.config.identity.share_worktrees else "do not share"
    rows = [
        ("store", info.path),
        ("sessions", f"{info.sessions} ({flavors})" if flavors else "0"),
        ("events", f"{info.events} from {info.sources} files in {info.projects} projects"),
        ("latest", human_time(info.last_event_at, now)),
        (
            "raw",
            (
                f"{human_bytes(usage.raw_bytes)} of {human_bytes(limits.raw_soft_cap_bytes)} soft,"
                f" {human_bytes(limits.raw_hard_cap_bytes)} hard"
            ),
        ),
        (
            "distilled",
            f"{human_bytes(usage.distilled_bytes)} of {human_bytes(limits.distilled_cap_bytes)}",
        ),
        (
            "on disk",
            f"{human_bytes(info.database_bytes)} database, {human_bytes(info.segment_bytes)} texts",
        ),
        ("worktrees", f"{worktrees} their repository's project"),
        ("last sweep", _told(last, now)),
    ]
    if info.unanalyzed:
        rows.append(("waiting", f"{info.unanalyzed} sessions for their digest: run a sweep"))
    if info.superseded_events:
        rows.append(("history", f"{info.superseded_events} events of logs rewritten since"))
    click.echo("\n".join(f"{name:<11} {value}" for name, value in rows))


def _last_sweep(app: App) -> dict[str, Any] | None:
    """The last report, or None: it is told, never relied upon."""
    try:
        return msgspec.json.decode(app.paths.last_sweep.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError):
        return None


def _told(last: dict[str, Any] | None, now: int) -> str:
    if last is None:
        return "never"
    report: dict[str, Any] = last.get("report", {})
    failed: list[Any] = report.get("failed", [])
    problems = f", {len(failed)} files not read" if failed else ""
    unknown: dict[str, int] = report.get("unknown", {})
    if unknown:
        problems += f", {sum(unknown.values())} records of unknown type"
    return (
        f"{human_time(last.get('finished_at'), now)}: {report.get('ingested', 0)} files ingested,"
        f" {report.get('skipped_unchanged', 0)} unchanged{problems}"
    )
