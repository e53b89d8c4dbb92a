"""`session-memory forget`: remove sessions, projects, times or texts, for good."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click

from session_memory.cli.app import App, dry_run_option, json_option, pass_app, yes_option
from session_memory.cli.output import emit_json, one_line, table
from session_memory.cli.session_argument import NAMED_BY, names, titled
from session_memory.cli.store import alone
from session_memory.cli.times import Moment, to_ms
from session_memory.clock import iso
from session_memory.core.forget import Remains
from session_memory.core.schema import Session
from session_memory.errors import EXIT_OK, Refused
from session_memory.forget import everywhere
from session_memory.forget.names import gone_of
from session_memory.forget.patterns import without_text
from session_memory.forget.plan import ForgetPlan, Wanted, apply_forget, plan_forget
from session_memory.store.port import Store
from session_memory.store.unfinished import marked

SHOWN = 20


@click.command(name="forget")
@click.option("--session", "sessions", metavar="SESSION", multiple=True,
              help=f"A session with its sub-agents, {NAMED_BY}; repeatable.")  # fmt: skip
@click.option("--project", metavar="KEY", help="Every session of this project.")
@click.option("--since", type=Moment(), help="Sessions that ended at or after this time.")
@click.option("--until", type=Moment(), help="Sessions that started before this time.")
@click.option("--text", help="Only events that contain this text, in the selected sessions.")
@click.option("--ignore-case", is_flag=True, help="Ignore case in --text.")
@dry_run_option
@yes_option
@click.option("--verify", is_flag=True, help="With --text: prove that the text is nowhere left.")
@json_option
@pass_app
def command(app: App, dry_run: bool, yes: bool, verify: bool, **asked: Any) -> int:
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
    wanted = _wanted(app, asked)
    with alone(app, "a sweep") as store:
        if verify:
            if wanted.text is None:
                raise click.UsageError("--verify needs --text")
            unread = tuple(everywhere.kept_copies(app.paths.data))
            return _tell_traces(app, store.traces(wanted.text), unread)
        plan = plan_forget(store, wanted)
        if plan.is_empty and not _is_said_beside(app, wanted):
            raise Refused("nothing matches", hint="`session-memory sessions` lists what is stored")
        shown = [store.session(number) for number in _concerned(plan)]
        if not app.json:
            asks = not dry_run and not yes  # then it belongs to the question, not to the result
            click.echo("\n".join(_preview(plan, shown)), err=asks)
        told = everywhere.Told()
        if not dry_run:
            if not yes:
                _ask()
            with marked(str(app.paths.data)):  # a sweep cleans up after one that was cut off
                told = _forget(app, store, plan, wanted)
            app.paths.last_sweep.unlink(missing_ok=True)  # its warnings may name what is gone
        left = store.traces(wanted.text) if wanted.text and not dry_run else []
    _tell(app, plan, shown, dry_run, told)
    for trace in left:
        app.warn(f"still there: {one_line(trace)}")
    return 1 if left else EXIT_OK


def _is_said_beside(app: App, wanted: Wanted) -> bool:
    """Whether a text that no session holds still stands in something made of sessions."""
    if wanted != Wanted(text=wanted.text, ignore_case=wanted.ignore_case) or wanted.text is None:
        return False  # what narrows to sessions says nothing about what is beside them
    words = without_text(wanted.text, ignore_case=wanted.ignore_case)
    return everywhere.is_said(app.paths, app.config.journal.vault, words)


def _forget(app: App, store: Store, plan: ForgetPlan, wanted: Wanted) -> everywhere.Told:
    """Forget in the store and beside it; see `everywhere.forget_sessions` on the order."""
    vault, now = app.config.journal.vault, app.clock()
    gone = gone_of(store, set(plan.sessions))
    logs = everywhere.agents_logs(store.log_paths({hit.session_id for hit in plan.hits}))
    told = everywhere.Told(
        remains=(*logs, *everywhere.copies(app.paths))
    )  # while the audit names them
    told |= everywhere.forget_sessions(store, app.paths, vault, gone, now)

    def then() -> None:
        nonlocal told
        told |= everywhere.forget_sessions(store, app.paths, vault, gone, now)
        if wanted.text is not None:
            words = without_text(wanted.text, ignore_case=wanted.ignore_case)
            told |= everywhere.reword(store, app.paths, vault, words, now)

    apply_forget(store, plan, wanted, then)
    return told


def _wanted(app: App, asked: dict[str, Any]) -> Wanted:
    now = app.clock()
    since, until = to_ms(asked.pop("since"), now), to_ms(asked.pop("until"), now)
    wanted = Wanted(since=since, until=until, **asked)
    if wanted == Wanted(ignore_case=wanted.ignore_case):
        raise Refused("no condition given: that would forget everything", hint="see --help")
    if wanted.text is not None and len(wanted.text) < 3:
        raise Refused("--text needs at least 3 characters")
    return wanted


def _tell_traces(app: App, traces: list[str], unread: tuple[Remains, ...]) -> int:
    if app.json:
        emit_json({"absent": not traces, "traces": traces, "not_searched": unread})
    else:
        for trace in traces:
            click.echo(f"still there: {one_line(trace)}")
        if not traces:
            click.echo("absent: in no row, segment, index or file of the store")
        for one in unread:
            click.echo(f"not searched in full: {one_line(one.where)}: {one.why}")
    return 1 if traces else EXIT_OK


def _concerned(plan: ForgetPlan) -> list[int]:
    """The numbers of the sessions that go, or that lose events."""
    return sorted({*plan.sessions, *(hit.session_id for hit in plan.hits)})


def _preview(plan: ForgetPlan, sessions: list[Session]) -> Iterator[str]:
    rows = [_row(one) for one in sessions]
    headers = ("session", "id", "agent", "project", "started", "ended", "events", "title")
    if rows:
        yield table(rows[:SHOWN], headers)
    if len(rows) > SHOWN:
        yield f"and {len(rows) - SHOWN} more; --dry-run --json lists them all"
    if plan.hits:
        yield f"{plan.events} events in {len(plan.hits)} sessions hold the text"
    else:
        yield f"{len(rows)} sessions with {plan.events} events"


def _row(session: Session) -> tuple[object, ...]:
    return (
        session.id,
        session.external_id,
        session.flavor,
        session.project_key,
        (iso(session.started_at) or "-")[:16],
        (iso(session.ended_at) or "-")[:16],
        session.event_count,
        titled(session)[:60],
    )


def _ask() -> None:
    if not sys.stdin.isatty():
        raise Refused("this would be forgotten for good", hint="--dry-run shows it, --yes does it")
    click.confirm("Forget?", abort=True, err=True)


def _tell(
    app: App, plan: ForgetPlan, sessions: list[Session], dry_run: bool, told: everywhere.Told
) -> None:
    if not app.json:
        click.echo("dry run: nothing was changed" if dry_run else "forgotten")
        for line in told_lines(told):
            click.echo(line)
        return
    emit_json(
        {
            "dry_run": dry_run,
            "sessions": [
                {
                    **names(one),
                    "project": one.project_key,
                    "title": titled(one),
                    "started_at": iso(one.started_at),
                    "ended_at": iso(one.ended_at),
                    "events": one.event_count,
                }
                for one in sessions
            ],
            "whole": not plan.hits,
            "events": plan.events,
            "sessions_with_text": len(plan.hits),
            "taken_out": told.taken_out,
            "remains": told.remains,
        }
    )


def told_lines(told: everywhere.Told) -> list[str]:
    """What was taken out of files of the user, and which places may still hold what went."""
    lines = [
        f"taken out of {one_line(file)}; what was committed of it stays in the history of git"
        for file in told.taken_out
    ]
    by_reason: dict[str, list[str]] = {}
    for one in told.remains:
        by_reason.setdefault(one.why, []).append(one_line(one.where))
    for why, places in by_reason.items():
        lines += [f"not touched: {place}: {why}" for place in places[:SHOWN]]
        if len(places) > SHOWN:
            lines.append(f"not touched: {len(places) - SHOWN} more; --json names them all: {why}")
    return lines
