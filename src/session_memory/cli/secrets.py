"""`session-memory store secrets`: find and redact stored secrets that older rules missed."""

from __future__ import annotations

import click

from session_memory.cli.app import App, VerbGroup, json_option, pass_app
from session_memory.cli.forget import forget_context, report_lines
from session_memory.cli.options import option
from session_memory.cli.output import count_progress, emit_json, say
from session_memory.cli.store import alone, changing
from session_memory.errors import EXIT_OK, EXIT_WARNINGS, StoreLocked
from session_memory.forget import rescan as scanning
from session_memory.forget.features import holding, rewrite_texts, searched
from session_memory.forget.report import ForgetContext, ForgetReport, without_secrets
from session_memory.ingest.rules_version import rules_version
from session_memory.redact import Redactor, make_redactor

SECONDS_AFTER_SWEEP = 2.0


@click.group(cls=VerbGroup, name="secrets")
def command() -> None:
    """Find or redact stored secrets that older versions missed.

    \b
    Examples:
      session-memory store secrets scan
      session-memory store secrets rescan
    """


@command.command()
@json_option
@pass_app
def scan(app: App) -> int:
    """Count stored texts that would be redacted today. Exit code 3 if there are any.

    Looks at events, digests, facts and observations, and at what was made of them: memories,
    journals, rules and the pages for new sessions.

    \b
    Examples:
      session-memory store secrets scan
      session-memory store secrets scan --json
    """
    with (
        alone(app, "a sweep") as store,
        count_progress("sessions", shown=app.shows_progress) as bar,
    ):
        redactor = _redactor(app, store.tag_key)
        report = scanning.scan(store, redactor, bar)
        _add_features(report, forget_context(app, store), redactor)
    _print_report(app, report, "would be redacted")
    return EXIT_WARNINGS if report.has_matches else EXIT_OK


@command.command()
@option(
    "--all", "start_over", is_flag=True, help="Also sessions that the current rules have checked."
)
@json_option
@pass_app
def rescan(app: App, start_over: bool) -> None:
    """Redact what is in and next to the store again, as a sweep would today.

    After an update that changed the rules every sweep does a part of this by itself, for two
    seconds at most; `status` shows how far it has come. This command does the rest at once. Killed,
    it goes on where it was.

    \b
    Examples:
      session-memory store secrets rescan
      session-memory store secrets rescan --all    look at every session again
    """
    rules = rules_version(app.config.redact)
    part = scanning.RescanPart(rules, start_over=start_over)
    report = _rescan(app, part)
    _print_report(app, report, "redacted")


def catch_up(app: App) -> None:
    """After a sweep: redact some of the sessions again that older rules redacted."""
    part = scanning.RescanPart(rules_version(app.config.redact), seconds=SECONDS_AFTER_SWEEP)
    try:
        report = _rescan(app, part)
    except StoreLocked:
        return  # whoever works on the store sweeps next
    if report.has_matches:
        app.note(
            f"newer rules redacted {report.events:,} events in {report.sessions:,} stored sessions"
        )


def _rescan(app: App, part: scanning.RescanPart) -> scanning.RescanReport:
    with (
        changing(app, "a sweep") as store,
        count_progress("sessions", shown=app.shows_progress) as bar,
    ):
        redactor, context = _redactor(app, store.tag_key), forget_context(app, store)
        report = scanning.rescan(store, redactor, bar, part)
        changed = ForgetReport()
        if not report.remaining:
            _add_features(report, context, redactor)
            changed = rewrite_texts(context, without_secrets(redactor))
            scanning.finish(store, part.rules)
    for line in report_lines(changed):
        app.warn(line)
    return report


def _add_features(
    report: scanning.RescanReport, context: ForgetContext, redactor: Redactor
) -> None:
    """Add what is next to the store to the report."""
    report.features = tuple(holding(context, without_secrets(redactor)))
    report.looked_at = ("events", "digests, facts and observations", *searched())


def _redactor(app: App, key: bytes) -> Redactor:
    return make_redactor(key, app.config.redact, app.warn)


def _print_report(app: App, report: scanning.RescanReport, what: str) -> None:
    if app.json:
        emit_json(report)
        return
    if report.events or not report.has_matches:
        say(f"{report.events:,} events in {report.sessions:,} sessions {what}")
    if report.fields:
        say(f"digests, facts or observations of {report.fields:,} sessions {what}")
    if report.features:
        say(f"texts in {', '.join(report.features)} {what}")
    if report.names:
        say(f"paths or ids of {', '.join(report.names)} hold something and stay as they are:")
        say("  rename the directory and `session-memory forget` what was stored of it")
    if not report.has_matches:
        say(f"looked at: {', '.join(report.looked_at)}")
    for rule, count in sorted(report.redactions.items()):
        click.echo(f"  {rule}: {count}")
