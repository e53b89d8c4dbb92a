"""`session-memory forget`: remove sessions, projects, times or texts, for good."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import click

from session_memory.cli.app import (
    App,
    confirm_or_leave,
    dry_run_option,
    json_option,
    pass_app,
    yes_option,
)
from session_memory.cli.options import option
from session_memory.cli.output import Column, emit_json, one_line, table
from session_memory.cli.session_argument import NAMED_BY, names
from session_memory.cli.store import alone
from session_memory.cli.times import Moment, to_ms
from session_memory.clock import iso
from session_memory.core.digest import title_of
from session_memory.core.project.former_keys import key_hint
from session_memory.core.schema import Session
from session_memory.errors import EXIT_OK, Refused
from session_memory.forget import features
from session_memory.forget.copies import own_copies
from session_memory.forget.plan import ForgetPlan, ForgetRequest, plan_forget
from session_memory.forget.report import ForgetContext, ForgetReport, without_text
from session_memory.ingest.last_sweep import keep_only_numbers
from session_memory.store.port import Store
from session_memory.store.unfinished import marked

SHOWN = 20
SHORT_TEXT = 8
"""A shorter text stands inside many words that mean something else."""
_COLUMNS = (
    Column("session"),
    Column("id", drop=1, meaning="dim"),
    Column("agent", drop=3),
    Column("project", drop=5),
    Column("started", drop=2, meaning="dim"),
    Column("ended", drop=6, meaning="dim"),
    Column("events", drop=4),
    Column("title", folds=True),
)


@click.command(name="forget")
@option("--session", "sessions", metavar="SESSION", multiple=True,
              help=f"A session with its sub-agents, {NAMED_BY}; repeatable.")  # fmt: skip
@option("--project", metavar="KEY", help="Every session of this project.")
@option("--since", type=Moment(), help="Sessions that ended at or after this time.")
@option("--until", type=Moment(), help="Sessions that started before this time.")
@option("--text", help="Only events that contain this text, in the selected sessions.")
@option("--ignore-case", is_flag=True, help="Ignore case in --text.")
@dry_run_option
@yes_option
@option("--verify", is_flag=True, help="With --text: prove that the text is left nowhere.")
@json_option
@pass_app
def command(
    app: App,
    *,
    sessions: tuple[str, ...],
    project: str | None,
    since: str | None,
    until: str | None,
    text: str | None,
    ignore_case: bool,
    dry_run: bool,
    yes: bool,
    verify: bool,
) -> int:
    """Delete what was captured: texts, index, digests, costs. This cannot be undone.

    The next sweep does not bring it back, nor does a fork of the session: keyed hashes are kept to
    recognise it. It is also deleted from the catalog, memories, journals and what we wrote into
    files agents read. Other copies (the agents' own logs, exports, backups, text you edited) are
    not touched; those we know of are listed.

    \b
    Examples:
      session-memory forget --session 42 --dry-run
      session-memory forget --project secret-app --yes
      session-memory forget --text "my old address" --yes
      session-memory forget --text "my old address" --verify
    """
    now = app.clock()
    request = ForgetRequest(
        sessions=sessions,
        project=project,
        since=to_ms(since, now),
        until=to_ms(until, now),
        text=text,
        ignore_case=ignore_case,
    )
    _check(request)
    with alone(app, "a sweep") as store:
        if verify:
            return _verify(app, store, request)
        context = forget_context(app, store)
        plan = plan_forget(store, request)
        if plan.is_empty and not _is_outside_sessions(context, request):
            hint = "`session-memory sessions` lists what is stored"
            raise Refused("nothing matches", hint=key_hint(store.projects(), project, hint))
        shown = [store.session(session_id) for session_id in _affected(plan)]
        if not app.json:
            asks = not dry_run and not yes  # then it is part of the question, not of the result
            click.echo("\n".join(_preview(plan, shown, text)), err=asks)
        report = ForgetReport()
        if not dry_run:
            if not yes:
                _ask()
            with marked(str(app.paths.data)):  # a sweep cleans up after one that was cut off
                report = features.forget(context, plan, request)
            keep_only_numbers(app.paths.last_sweep)
        left = _left(store, request) if not dry_run else []
    _show_report(app, plan, shown, dry_run, report)
    for trace in left:
        app.warn(f"still there: {one_line(trace)}")
    return 1 if left else EXIT_OK


def forget_context(app: App, store: Store) -> ForgetContext:
    """The store and folders that forgetting changes."""
    return ForgetContext(store, app.paths, app.config.journal.vault, app.clock())


def _check(request: ForgetRequest) -> None:
    if request == ForgetRequest(ignore_case=request.ignore_case):
        hint = "say what: --session 42, --project KEY, --since 7d or --text TEXT"
        raise Refused("no condition given: that would forget everything", hint=hint)
    if request.text is not None and len(request.text) < 3:
        raise Refused(
            "--text needs at least 3 characters: a shorter text stands in nearly every event",
            hint="forget whole sessions with --session, or a longer text around it",
        )


def _is_outside_sessions(context: ForgetContext, request: ForgetRequest) -> bool:
    """Whether a text that no session contains is still in something made from sessions."""
    text, ignore_case = request.text, request.ignore_case
    if text is None or request != ForgetRequest(text=text, ignore_case=ignore_case):
        return False  # conditions on sessions do not apply there
    return features.contains(context, without_text(text, ignore_case=ignore_case))


def _left(store: Store, request: ForgetRequest) -> list[str]:
    """Where the text still stands, looked for as it was to be forgotten."""
    if request.text is None:
        return []
    return store.traces(request.text, ignore_case=request.ignore_case)


def _verify(app: App, store: Store, request: ForgetRequest) -> int:
    if request.text is None:
        raise click.UsageError("--verify needs --text")
    traces, unread = _left(store, request), own_copies(app.paths.data)
    if app.json:
        emit_json({"absent": not traces, "traces": traces, "not_searched": unread})
    else:
        for trace in traces:
            click.echo(f"still there: {one_line(trace)}")
        if not traces:
            click.echo("absent: in no row, segment, index or file of the store")
            if not request.ignore_case:
                app.note("the search was case-sensitive; --ignore-case matches any case")
        for copy in unread:
            click.echo(f"not searched in full: {one_line(copy.where)}: {copy.why}")
    return 1 if traces else EXIT_OK


def _affected(plan: ForgetPlan) -> list[int]:
    """Numbers of the sessions that go or lose events."""
    return sorted({*plan.sessions, *(hit.session_id for hit in plan.hits)})


def _preview(plan: ForgetPlan, sessions: list[Session], text: str | None) -> Iterator[str]:
    rows = [_row(session) for session in sessions]
    if rows:
        yield table(rows[:SHOWN], _COLUMNS)
    if len(rows) > SHOWN:
        yield f"and {len(rows) - SHOWN} more; --dry-run --json lists them all"
    if plan.hits:
        held = _count(len(plan.hits), "session")
        yield f"the text is in {_count(plan.events, 'event')} of {held}"
        if len(text or "") < SHORT_TEXT:
            yield (
                f'"{one_line(text or "")}" is short: these events hold it anywhere, also inside'
                " longer words, and go as a whole; in digests, memories and journals only the text"
                " itself is replaced"
            )
    else:
        yield f"{_count(len(rows), 'session')} with {_count(plan.events, 'event')}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _row(session: Session) -> tuple[object, ...]:
    return (
        session.id,
        session.external_id,
        session.flavor,
        session.project_key,
        (iso(session.started_at) or "-")[:16],
        (iso(session.ended_at) or "-")[:16],
        session.event_count,
        title_of(session),
    )


def _ask() -> None:
    if not sys.stdin.isatty():
        raise Refused("this would be forgotten for good", hint="--dry-run shows it, --yes does it")
    confirm_or_leave("Forget?", "nothing was forgotten")


def _show_report(
    app: App, plan: ForgetPlan, sessions: list[Session], dry_run: bool, report: ForgetReport
) -> None:
    if not app.json:
        click.echo("dry run: nothing was changed" if dry_run else "forgotten")
        for line in report_lines(report):
            click.echo(line)
        return
    emit_json(
        {
            "dry_run": dry_run,
            "sessions": [
                {
                    **names(session),
                    "project": session.project_key,
                    "title": title_of(session),
                    "started_at": iso(session.started_at),
                    "ended_at": iso(session.ended_at),
                    "events": session.event_count,
                }
                for session in sessions
            ],
            "whole": not plan.hits,
            "events": plan.events,
            "sessions_with_text": len(plan.hits),
            "taken_out": report.taken_out,
            "remains": report.remains,
        }
    )


def report_lines(report: ForgetReport) -> list[str]:
    """Files of the user that changed, and what may still hold what was forgotten."""
    lines = [
        f"taken out of {one_line(file)}; what was committed of it stays in the history of git"
        for file in report.taken_out
    ]
    by_reason: dict[str, list[str]] = {}
    for remains in report.remains:
        by_reason.setdefault(remains.why, []).append(one_line(remains.where))
    for why, places in by_reason.items():
        lines += [f"not touched: {place}: {why}" for place in places[:SHOWN]]
        if len(places) > SHOWN:
            lines.append(f"not touched: {len(places) - SHOWN} more; --json names them all: {why}")
    return lines
