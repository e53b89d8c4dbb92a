"""`session-memory export`: what is stored, as files that other programs and people can read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from session_memory import audit
from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import byte_progress, emit_json, human_bytes, safe
from session_memory.cli.session_argument import session_option
from session_memory.cli.store import alone
from session_memory.cli.times import Moment, to_ms
from session_memory.core.schema import Session
from session_memory.errors import NotFound, UsageError
from session_memory.export.destination import prepare_directory, prepare_file
from session_memory.export.jsonl import Wish, target_of, write_jsonl
from session_memory.export.markdown import write_markdown, write_session
from session_memory.store.port import ForgetStore, Store
from session_memory.store.values import SessionQuery


@click.command(name="export")
@click.argument("target", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "markdown"]),
    default="jsonl",
    show_default=True,
    help="For programs and `import`, or for people.",
)
@click.option("--project", metavar="KEY", help="Only sessions of this project.")
@session_option("Only this session and its sub-agents")
@click.option("--since", type=Moment(), help="Ended at or after: a date, time or span (7d).")
@click.option("--dry-run", is_flag=True, help="Say what would be written, write nothing.")
@json_option
@pass_app
def command(app: App, target: Path, form: str, dry_run: bool, **asked: str | None) -> None:
    """Write sessions with their events, digests, observations and costs to TARGET.

    TARGET is a new directory; or a new file that ends in .jsonl, or in .md for one session. What is
    written is redacted as it is stored, and private to you. `import` takes JSONL back in.

    \b
    Examples:
      session-memory export ~/memory-2026-11
      session-memory export --project shop --since 30d shop.jsonl
      session-memory export --format markdown --session 42 session.md
    """
    target = target.absolute()
    # A sweep in between could add to a session whose first lines are written already.
    with alone(app, "a sweep") as store:
        chosen = _choose(store, app, asked)
        if not chosen:
            raise NotFound("no session fits", hint="`session-memory sessions` lists them")
        if form == "markdown" and target.suffix == ".md" and len(chosen) > 1:
            raise UsageError(
                f"{len(chosen)} sessions do not go into one .md file", hint="name a directory"
            )
        done: dict[str, Any] = {
            "target": str(target),
            "format": form,
            "dry_run": dry_run,
            "sessions": len(chosen),
            "events": sum(session.event_count for session in chosen),
        }
        if not dry_run:
            done |= _write(app, store, target, (form, chosen, asked))
    _tell(app, done)


def _choose(store: ForgetStore, app: App, asked: dict[str, str | None]) -> tuple[Session, ...]:
    """The sessions that were asked for, oldest number first."""
    query = SessionQuery(project=asked["project"], since=to_ms(asked["since"], app.clock()))
    found = store.sessions(query)
    if asked["project"] and not any(p.key == asked["project"] for p in store.projects()):
        raise NotFound(f"no project {asked['project']!r}", hint="see `session-memory sessions`")
    if asked["session"] is not None:
        wanted = store.with_subagents({store.find_session(asked["session"]).id})
        found = [session for session in found if session.id in wanted]
    return tuple(sorted(found, key=lambda session: session.id))


Order = tuple[str, tuple[Session, ...], dict[str, str | None]]


def _write(app: App, store: Store, target: Path, order: Order) -> dict[str, Any]:
    form, chosen, asked = order
    with byte_progress(shown=app.shows_progress) as advance:
        if form == "markdown":
            if target.suffix == ".md":
                size = write_session(store, prepare_file(target), chosen[0])
            else:
                size = write_markdown(store, prepare_directory(target), chosen, advance)
            _note(app, target, None)
            return {"bytes": size}
        place = target_of(target)
        if target.suffix == ".jsonl":
            prepare_file(place.manifest)
            prepare_file(place.lines)
        else:
            prepare_directory(target)
        filters = {name: value for name, value in asked.items() if value}
        manifest = write_jsonl(store, place, Wish(chosen, filters, app.clock()), advance)
    entry = manifest.files[0]
    _note(app, place.lines, entry.sha256)
    return {"bytes": entry.bytes, "sha256": entry.sha256, **manifest.counts}


def _note(app: App, path: Path, sha256: str | None) -> None:
    """An export is outside the store, so `audit` tells of it."""
    written = audit.Written(app.clock(), "export", str(path), "asked for by export", None, sha256)
    audit.append(app.paths.data, written)


def _tell(app: App, done: dict[str, Any]) -> None:
    if app.json:
        emit_json(done)
        return
    what = f"{done['sessions']} sessions, {done['events']} events"
    if done["dry_run"]:
        click.echo(f"would write {what} to {safe(done['target'])}")
    else:
        click.echo(f"wrote {what}, {human_bytes(done['bytes'])}, to {safe(done['target'])}")
