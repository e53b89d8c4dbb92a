"""`session-memory sweep`: capture what is new, and say exactly what happened."""

from __future__ import annotations

import errno
import sys

import click
import msgspec

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import (
    byte_progress,
    columns,
    counted,
    emit_json,
    fit,
    hanging,
    human_bytes,
    one_line,
)
from session_memory.cli.store import sweep_context
from session_memory.errors import EXIT_OK, EXIT_WARNINGS, SessionMemoryError, StoreLocked
from session_memory.ingest.report import SweepReport
from session_memory.worker.sweep import sweep_and_mine

SHOWN = 10
LABEL = 11


@click.command(name="sweep")
@option("--dry-run", is_flag=True, help="Discover and parse only; write nothing.")
@option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes that work at the same time; 1 starts no other. Default: one for each core,"
    " up to 6, where there are 40 MB or more to read.",
)
@json_option
@pass_app
def command(app: App, dry_run: bool, jobs: int | None) -> int:
    """Capture new sessions from the agents' logs.

    Reads what was added since the last sweep, takes secrets out, stores it, and makes a digest of
    each session. At a terminal it prints a summary; -v, pipes and --json get every figure, -q one
    line.

    \b
    Examples:
      session-memory sweep              capture everything new since the last sweep
      session-memory sweep --dry-run    show what would be read

    Exit code 3 means: done, but a file could not be read, a step failed for a session, raw text was
    lost to the hard cap, or the database is damaged. The next sweep retries what failed. A damaged
    database is kept untouched under another name, and new sessions go into a fresh one until
    `session-memory store repair` merges both.
    """
    with byte_progress(shown=app.shows_progress) as bar:
        context = msgspec.structs.replace(sweep_context(app), progress=bar, jobs=jobs)
        try:
            report = sweep_and_mine(context, app.paths.last_sweep, dry_run=dry_run)
        except StoreLocked as error:
            return _already_running(app, error)
    if report.rescan_due and not dry_run:
        from session_memory.cli.secrets import catch_up  # rare, after an update

        catch_up(app)
    try:
        _show(app, report)
    except OSError as error:
        if error.errno == errno.EPIPE:
            raise
        raise SessionMemoryError(
            f"everything was stored, but the report could not be written: {error.strerror}",
            hint="free some space where the output goes; `session-memory status` shows the report",
        ) from None
    for text in report.warnings:
        app.warn(one_line(text))
    _warn_of_failures(app, report)
    return EXIT_WARNINGS if report.needs_attention else EXIT_OK


def _show(app: App, report: SweepReport) -> None:
    if app.json:
        emit_json(report)
    else:
        short = (columns() is not None or app.quiet) and not app.verbosity
        shown = summary(report)[1:2] if app.quiet else summary(report) if short else lines(report)
        click.echo("\n".join(map(_folded, shown)))
    sys.stdout.flush()  # here, so that a full disk is reported as such


def _warn_of_failures(app: App, report: SweepReport) -> None:
    """A line for each failure, up to `SHOWN` of a kind: a folder may hold thousands of files."""
    files = [
        f"{'put off' if failure.deferred else 'not read'}: {one_line(failure.path)}:"
        f" {one_line(failure.reason)}"
        for failure in report.failed
    ]
    steps = [
        f"{failure.step} failed: {one_line(failure.what)}: {one_line(failure.reason)}"
        for failure in report.failed_steps
    ]
    for texts in (files, steps):
        shown = texts if app.verbosity or len(texts) <= SHOWN else texts[: SHOWN - 1]
        for text in shown:
            app.warn(text)
        if len(texts) > len(shown):
            app.warn(f"and {len(texts) - len(shown):,} more; -v shows every one")


def _already_running(app: App, error: StoreLocked) -> int:
    """Not a failure: the work is being done (ING-07)."""
    if app.json:
        emit_json({"already_running": True})
    app.note(f"{error.message}; it will capture what is new")
    return EXIT_OK


def _folded(line: str) -> str:
    """A line with its further lines below the first, behind the column of names."""
    named = line[:1].isalpha() and line[LABEL - 2 : LABEL] == "  "
    return "\n".join(hanging(line[:LABEL], line[LABEL:], columns())) if named else fit(line)


def summary(report: SweepReport) -> list[str]:
    """The report for a person: what is new, and what is out of the ordinary."""
    would = "would be " if report.dry_run else ""
    logs = counted(report.discovered, "log")
    new = counted(report.sessions, "new session")
    size = human_bytes(report.bytes_read)
    unread = f", {len(report.failed):,} not read" if report.failed else ""
    log_counts = f"{report.ingested:,} new or grown, {report.skipped_unchanged:,} unchanged{unread}"
    took = f"from {size} of logs in {report.seconds:.1f} s"
    damaged, secrets = report.parse_errors + report.too_long, sum(report.redactions.values())
    return [
        f"found      {logs}: {log_counts}",
        f"stored     {would}{report.events:,} events, {new}, {took}",
        *([f"redacted   {counted(secrets, 'secret')}; -v names the rules"] if secrets else []),
        *([f"damaged    {counted(damaged, 'line')}: see `store quarantine`"] if damaged else []),
        *(_retention(report)[1:]),  # the first is the same every time
        *_remarks(report),
    ]


def lines(report: SweepReport) -> list[str]:
    """The report with every figure, one line per step of the sweep."""
    lines = [
        f"discover   discovered {report.discovered}, ingested {report.ingested},"
        f" skipped_unchanged {report.skipped_unchanged}, failed {len(report.failed)}"
        + (f" ({put_off} put off)" if (put_off := sum(f.deferred for f in report.failed)) else "")
        + (f", vanished since {report.vanished}" if report.vanished else ""),
        (
            f"normalize  {report.records} records, {human_bytes(report.bytes_read)}"
            f" in {report.seconds:.1f} s{_speed(report)}{_damage(report)}"
        ),
    ]
    if report.dry_run:
        lines.append(f"would store {report.events} events of {report.sessions} sessions")
        lines.append("dry run: nothing was written")
    else:
        history = f", {report.superseded} superseded" if report.superseded else ""
        orphans = f", {report.orphans_removed} orphans removed" if report.orphans_removed else ""
        lines += [
            f"store      {report.events} events, {report.sessions} new sessions{history}{orphans}",
            f"digest     analyzed {report.analyzed}",
            *_retention(report),
        ]
    if report.redactions:
        rules = ", ".join(f"{rule} {count}" for rule, count in report.redactions.most_common(SHOWN))
        lines.append(f"redacted   {sum(report.redactions.values())} secrets: {rules}")
    return lines + _remarks(report)


def _retention(report: SweepReport) -> list[str]:
    from session_memory.cli.retention import done_lines  # for people alone

    return done_lines(report.retention)


def _remarks(report: SweepReport) -> list[str]:
    """What does not happen in every sweep."""
    lines: list[str] = []
    if report.damage:
        lines.append(f"damage     {one_line(report.damage)}")
        lines.append(
            "           captured into a fresh database; `session-memory store repair` joins both"
        )
    if report.forgotten:
        lines.append(f"forgotten  {report.forgotten} events stay out")
    if report.excluded:
        lines.append(f"excluded   {report.excluded} events, as you or their repositories ask")
    lines += [
        f"missing    {one_line(part)}, in {counted(count, 'log')}:"
        " what only that file holds is missing"
        for part, count in report.missing_parts.items()
    ]
    lines += [f"unknown    {one_line(what)}: {count}" for what, count in _unknown(report)]
    if not report.discovered:
        lines.append("no agent logs found; looked in:")
        lines += [f"  {one_line(place)}" for place in report.looked_in[:SHOWN]]
        if (more := len(report.looked_in) - SHOWN) > 0:
            lines.append(f"  and {more} more: `session-memory config agents --json`")
    return lines


def _speed(report: SweepReport) -> str:
    if not (report.bytes_read and report.cpu_seconds):
        return ""
    return f" ({report.bytes_read / 1e6 / report.cpu_seconds:.1f} MB per CPU second)"


def _damage(report: SweepReport) -> str:
    counts = {
        "parse errors": report.parse_errors,
        "recovered": report.recovered,
        "incomplete last lines": report.incomplete_tail,
        "lines over the cap": report.too_long,
    }
    return "".join(f", {count} {name}" for name, count in counts.items() if count)


def _unknown(report: SweepReport) -> list[tuple[str, int]]:
    counts = report.unknown.most_common()
    rest = sum(count for _, count in counts[SHOWN:])
    return [*counts[:SHOWN], ("and others", rest)] if rest else counts
