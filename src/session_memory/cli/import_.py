"""`session-memory store import`: read an export into this or another store."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import click
import msgspec

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import byte_progress, emit_json, safe
from session_memory.distil.sessions import analyze
from session_memory.errors import Refused
from session_memory.export.importer import ImportContext, ImportReport, import_lines
from session_memory.export.reader import open_export, read_lines
from session_memory.export.records import Manifest
from session_memory.paths import private_dir
from session_memory.redact import make_redactor
from session_memory.store import open_store, store_exists
from session_memory.store.lock import exclusive
from session_memory.store.port import CaptureStore, Store
from session_memory.store.unfinished import marked


@click.command(name="import")
@click.argument("source", type=click.Path(path_type=Path))
@option("--dry-run", is_flag=True, help="Check the export and say what is new; write nothing.")
@json_option
@pass_app
def command(app: App, source: Path, dry_run: bool) -> None:
    """Import what `store export` wrote: SOURCE is its directory or .jsonl file.

    Every byte is checked first. Sessions that are already here only get the events they lack; what
    you forgot stays forgotten; everything is redacted again.

    \b
    Examples:
      session-memory store import --dry-run ~/memory-2026-11
      session-memory store import ~/memory-2026-11
      session-memory store import shop.jsonl --json
    """
    manifest, lines = open_export(source.absolute())
    with _open(app, manifest, dry_run=dry_run) as store:
        if store is None:
            counts = manifest.counts
            report = ImportReport(new=counts["sessions"], events=counts["events"])
        else:
            redactor = make_redactor(store.tag_key, app.config.redact, app.warn)
            context = ImportContext(
                store, redactor, lambda writer: analyze(store, writer), dry_run=dry_run
            )
            with byte_progress(shown=app.shows_progress) as advance:
                report = import_lines(context, manifest, read_lines(lines, advance))
    _print(app, report, dry_run=dry_run)


@contextmanager
def _open(app: App, manifest: Manifest, *, dry_run: bool) -> Generator[Store | None]:
    """The store, created if new; None where a dry run finds none."""
    directory = str(app.paths.data)
    if dry_run and not store_exists(app.paths.data):
        yield None
        return
    private_dir(directory)
    with (
        exclusive(str(app.paths.data / "sweep.lock"), "a sweep"),
        nullcontext() if dry_run else marked(directory),
    ):
        if not dry_run:
            _adopt_key(app, manifest)
        with open_store(directory, app.clock(), create_missing=True) as store:
            if not dry_run:
                _apply_marks(store)
            yield store


def _apply_marks(store: CaptureStore) -> None:
    """Apply first what was forgotten here, also by a store that no longer exists."""
    if store.has_new_marks():
        store.apply_marks()


def _adopt_key(app: App, manifest: Manifest) -> None:
    """A blank store adopts the key, so that it recognises these events in their logs."""
    try:
        key = bytes.fromhex(manifest.fingerprint_key)
    except ValueError:
        key = b""
    if not 16 <= len(key) <= 64:
        raise Refused("the manifest of this export is damaged: its key is not valid")
    with open_store(str(app.paths.data), app.clock(), create_missing=True) as store:
        _apply_marks(store)
        if store.exchange.is_blank():
            store.exchange.adopt(key)


def _print(app: App, report: ImportReport, *, dry_run: bool) -> None:
    if app.json:
        emit_json({**msgspec.to_builtins(report), "dry_run": dry_run})
        return
    click.echo(
        f"{'would import' if dry_run else 'imported'} {report.new} new sessions and"
        f" {report.events} events; {report.grown} sessions grew, {report.known} were already here"
    )
    if report.forgotten or report.forgotten_events:
        click.echo(
            f"left out {report.forgotten} forgotten sessions and"
            f" {report.forgotten_events} forgotten events"
        )
    for rule, count in sorted(report.redactions.items()):
        click.echo(f"redacted {count} by {safe(rule)}")
