"""`session-memory store audit`: files written outside our own folders, and why."""

from __future__ import annotations

import click

from session_memory import audit
from session_memory.cli.app import App, json_option, long_output, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import Column, echo_more, emit_json, table
from session_memory.cli.times import Moment, to_ms
from session_memory.clock import iso
from session_memory.paths import find_paths

SHORT = 12
SHOWN = 50
_COLUMNS = (
    Column("when"),
    Column("by", drop=3),
    Column("file", folds=True),
    Column("why", drop=4),
    Column("before", drop=1),
    Column("after", drop=2),
)


@click.command(name="audit")
@option("--path", "part", metavar="TEXT", help="Only files whose path contains this.")
@option("--since", type=Moment(), help="Written at or after: a date, time or span (7d).")
@option("--all", "everything", is_flag=True, help=f"All of them, not only the last {SHOWN}.")
@json_option
@pass_app
@long_output
def command(app: App, part: str | None, since: str | None, everything: bool) -> None:
    """List files written outside the store: when, by which command and why, oldest first.

    Before and after are the SHA-256 of the file; `-` means that there was no file.

    \b
    Examples:
      session-memory store audit
      session-memory store audit --since 7d --path CLAUDE.md
      session-memory store audit --json
    """
    start = to_ms(since, app.clock())
    writes = [
        write
        for write in _all(app)
        if (part is None or part in write.path) and (start is None or write.at >= start)
    ]
    if app.json:
        emit_json({"written": writes})
        return
    if not writes:
        app.note("nothing was written outside the store")
        return
    shown = writes if everything else writes[-SHOWN:]
    rows = [(_moment(w.at), w.by, w.path, w.why, _short(w.before), _short(w.after)) for w in shown]
    click.echo(table(rows, _COLUMNS))
    echo_more(len(writes) - len(shown))


def _moment(at: int) -> str:
    return (iso(at) or "-")[:19].replace("T", " ")


def _all(app: App) -> list[audit.Written]:
    """What was done for this store, and how agents were wired, which does not depend on it."""
    places = dict.fromkeys((app.paths.data, find_paths(app.environ).data))
    return sorted(
        (entry for place in places for entry in audit.read(place)), key=lambda entry: entry.at
    )


def _short(sha256: str | None) -> str | None:
    return None if sha256 is None else sha256[:SHORT]
