"""`session-memory secrets`: find and redact stored secrets that older rules missed."""

from __future__ import annotations

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.forget import forget_context, report_lines
from session_memory.cli.output import emit_json
from session_memory.cli.store import alone, changing
from session_memory.errors import EXIT_OK, EXIT_WARNINGS
from session_memory.forget import rescan as scanning
from session_memory.forget.features import rewrite_texts
from session_memory.forget.report import without_secrets
from session_memory.redact import Redactor, make_redactor


@click.group(name="secrets")
def command() -> None:
    """Find or redact stored secrets that older rules missed.

    \b
    Examples:
      session-memory secrets scan
      session-memory secrets rescan
    """


@command.command()
@json_option
@pass_app
def scan(app: App) -> int:
    """Count stored events that today's rules would redact. Exit code 3 if there are any.

    \b
    Examples:
      session-memory secrets scan
      session-memory secrets scan --json
    """
    with alone(app, "a sweep") as store:
        report = scanning.scan(store, _redactor(app, store.tag_key))
    _tell(app, report, "would be redacted")
    return EXIT_WARNINGS if report.events else EXIT_OK


@command.command()
@json_option
@pass_app
def rescan(app: App) -> None:
    """Redact everything in and beside the store again, with today's rules.

    \b
    Examples:
      session-memory secrets rescan
    """
    with changing(app, "a sweep") as store:
        redactor = _redactor(app, store.tag_key)
        report = scanning.rescan(store, redactor)
        changed = rewrite_texts(forget_context(app, store), without_secrets(redactor))
    for line in report_lines(changed):
        app.warn(line)
    _tell(app, report, "redacted")


def _redactor(app: App, key: bytes) -> Redactor:
    redactor, warnings = make_redactor(key, app.config.redact)
    for text in warnings:
        app.warn(text)
    return redactor


def _tell(app: App, report: scanning.RescanReport, what: str) -> None:
    if app.json:
        emit_json(report)
        return
    click.echo(f"{report.events} events in {report.sessions} sessions {what}")
    for rule, count in sorted(report.redactions.items()):
        click.echo(f"  {rule}: {count}")
