"""`session-memory store export`: write sessions to files for other programs or people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from session_memory import audit
from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import byte_progress, emit_json, human_bytes, safe
from session_memory.cli.session_argument import session_option
from session_memory.cli.store import alone
from session_memory.cli.times import Moment, to_ms
from session_memory.core.project.former_keys import key_hint
from session_memory.core.schema import Session
from session_memory.errors import NotFound, Refused, UsageError
from session_memory.export.jsonl import ExportRequest, export_files, write_jsonl
from session_memory.export.markdown import write_markdown, write_session
from session_memory.paths import private_dir
from session_memory.store.port import ForgetStore, Store
from session_memory.store.values import SessionQuery


@click.command(name="export")
@click.argument("target", type=click.Path(path_type=Path))
@option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "markdown"]),
    default="jsonl",
    show_default=True,
    help="For programs and `store import`, or for people.",
)
@option("--project", metavar="KEY", help="Only sessions of this project.")
@session_option("Only this session and its sub-agents")
@option("--since", type=Moment(), help="Ended at or after: a date, time or span (7d).")
@option("--dry-run", is_flag=True, help="Say what would be written; write nothing.")
@json_option
@pass_app
def command(
    app: App,
    target: Path,
    *,
    form: str,
    project: str | None,
    session: str | None,
    since: str | None,
    dry_run: bool,
) -> None:
    """Write sessions with their events, digests, observations and costs to TARGET.

    TARGET is a new directory; or a new file that ends in .jsonl, or in .md for one session. Files
    are redacted like the store and readable only by you. `store import` reads JSONL back.

    \b
    Examples:
      session-memory store export ~/memory-2026-11
      session-memory store export --project shop --since 30d shop.jsonl
      session-memory store export --format markdown --session 42 session.md
    """
    target = target.absolute()
    # A sweep meanwhile could add to a session whose first lines are already written.
    with alone(app, "a sweep") as store:
        sessions = _select(store, project, session, to_ms(since, app.clock()))
        if not sessions:
            raise NotFound("no session fits", hint="`session-memory sessions` lists them")
        if form == "markdown" and target.suffix == ".md" and len(sessions) > 1:
            raise UsageError(
                f"{len(sessions)} sessions do not fit into one .md file", hint="name a directory"
            )
        report: dict[str, Any] = {
            "target": str(target),
            "format": form,
            "dry_run": dry_run,
            "sessions": len(sessions),
            "events": sum(each.event_count for each in sessions),
        }
        if not dry_run and form == "markdown":
            report |= _write_markdown(app, store, target, sessions)
        elif not dry_run:
            filters = {"project": project, "session": session, "since": since}
            used_filters = {name: value for name, value in filters.items() if value}
            request = ExportRequest(sessions, used_filters, app.clock())
            report |= _write_jsonl(app, store, target, request)
    _print(app, report)


def _select(
    store: ForgetStore, project: str | None, session: str | None, since: int | None
) -> tuple[Session, ...]:
    """The sessions to export, by their number."""
    sessions = store.sessions(SessionQuery(project=project, since=since))
    projects = store.projects()
    if project and not any(each.key == project for each in projects):
        hint = key_hint(projects, project, "`session-memory project list` names them")
        raise NotFound(f"no project {project!r}", hint=hint)
    if session is not None:
        numbers = store.with_subagents({store.find_session(session).id})
        sessions = [each for each in sessions if each.id in numbers]
    return tuple(sorted(sessions, key=lambda each: each.id))


def _write_markdown(
    app: App, store: Store, target: Path, sessions: tuple[Session, ...]
) -> dict[str, Any]:
    with byte_progress(shown=app.shows_progress) as advance:
        if target.suffix == ".md":
            size = write_session(store, _new_file(target), sessions[0])
        else:
            size = write_markdown(store, _empty_directory(target), sessions, advance)
    _audit(app, target, None)
    return {"bytes": size}


def _write_jsonl(app: App, store: Store, target: Path, request: ExportRequest) -> dict[str, Any]:
    files = export_files(target)
    if target.suffix == ".jsonl":
        _new_file(files.manifest)
        _new_file(files.lines)
    else:
        _empty_directory(target)
    with byte_progress(shown=app.shows_progress) as advance:
        manifest = write_jsonl(store, files, request, advance)
    entry = manifest.files[0]
    _audit(app, files.lines, entry.sha256)
    return {"bytes": entry.bytes, "sha256": entry.sha256, **manifest.counts}


def _empty_directory(path: Path) -> Path:
    """A directory only we can read; an existing one must be empty."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise Refused(f"{path} is not an empty directory", hint="name a new one for the export")
    return private_dir(path)


def _new_file(path: Path) -> Path:
    """A path at which there is no file yet, in an existing directory."""
    if not path.parent.is_dir():
        raise NotFound(f"there is no directory {path.parent}", hint="make it first")
    if path.exists() or path.is_symlink():
        raise Refused(f"{path} already exists", hint="name a new file for the export")
    return path


def _audit(app: App, path: Path, sha256: str | None) -> None:
    """An export is outside the store, so `store audit` lists it."""
    written = audit.Written(app.clock(), "export", str(path), "asked for by export", None, sha256)
    audit.append(app.paths.data, written)


def _print(app: App, report: dict[str, Any]) -> None:
    if app.json:
        emit_json(report)
        return
    what = f"{report['sessions']} sessions, {report['events']} events"
    target = safe(report["target"])
    if report["dry_run"]:
        click.echo(f"would write {what} to {target}")
    else:
        click.echo(f"wrote {what}, {human_bytes(report['bytes'])}, to {target}")
