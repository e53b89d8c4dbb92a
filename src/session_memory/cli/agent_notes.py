"""`session-memory project memory notes`: what agents wrote for the user, and deciding on it."""

from __future__ import annotations

import sys

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import emit_json, one_line
from session_memory.cli.rules_next import curate_context
from session_memory.curate.agent_notes import Note, read_notes, waiting
from session_memory.curate.decisions import default_reviewer
from session_memory.curate.note_decisions import (
    confirm_note,
    find_waiting,
    reject_note,
    undo_note,
    words_now,
)
from session_memory.errors import Refused

KEYS = "y confirms, n rejects, s skips, q ends"
_ids = click.argument("ids", nargs=-1, required=True, metavar="NOTE...")


@click.command()
@option("--all", "everything", is_flag=True, help="Also those that were decided on.")
@json_option
@pass_app
def notes(app: App, everything: bool) -> None:
    """What agents noted for you and what waits for your yes; nothing of it is used before.

    \b
    Examples:
      session-memory project memory notes
      session-memory project memory notes --all --json
    """
    listed = read_notes(app.paths.data)
    shown = listed if everything else waiting(listed)
    if app.json:
        emit_json({"notes": shown, "count": len(shown)})
        return
    for note in shown:
        click.echo(_line(note))
    if not shown:
        click.echo("no note waits; agents add them with the tool mem_note")
    elif not everything:
        click.echo(f"{_counted(shown)}; `session-memory project memory review` goes through them")


@click.command()
@pass_app
def review(app: App) -> None:
    """Go through what agents noted, one at a time: a yes makes it part of memory.

    A rule then enters the catalog as if you had written it, and files by `rules distribute`
    alone; anything else becomes a line of your part of MEMORY.md.

    \b
    Examples:
      session-memory project memory review
    """
    left = waiting(read_notes(app.paths.data))
    if not left:
        click.echo("no note waits")
        return
    if not sys.stdin.isatty():
        raise Refused(
            f"{_counted(left)}, and there is no terminal",
            hint="`project memory confirm NOTE` decides on one by its id",
        )
    for note in left:
        click.echo(_line(note))
        if note.kind == "wording":
            click.echo(f"  instead of: {one_line(words_now(curate_context(app), note.pattern))}")
        key = read_key()
        if key == "q":
            return
        if key == "y":
            _say_confirmed(app, confirm_note(curate_context(app), note.id, _who(app)))
        elif key == "n":
            reject_note(curate_context(app), note.id)
            click.echo("rejected")


@click.command()
@_ids
@json_option
@pass_app
def confirm(app: App, ids: tuple[str, ...]) -> None:
    """Make what an agent noted part of memory.

    \b
    Examples:
      session-memory project memory confirm n-1a2b3c4d
    """
    confirmed = [confirm_note(curate_context(app), id_, _who(app)) for id_ in _all_wait(app, ids)]
    if app.json:
        emit_json({"confirmed": confirmed})
        return
    for note in confirmed:
        _say_confirmed(app, note)


@click.command()
@_ids
@json_option
@pass_app
def reject(app: App, ids: tuple[str, ...]) -> None:
    """Refuse what an agent noted; it is kept as refused and never used.

    \b
    Examples:
      session-memory project memory reject n-1a2b3c4d
    """
    rejected = [reject_note(curate_context(app), id_) for id_ in _all_wait(app, ids)]
    if app.json:
        emit_json({"rejected": rejected})
        return
    click.echo(f"rejected {len(rejected)}")


@click.command()
@click.argument("note", required=False)
@json_option
@pass_app
def undo(app: App, note: str | None) -> None:
    """Take back a decision on a note, by default the last yes; the note waits again.

    \b
    Examples:
      session-memory project memory undo
      session-memory project memory undo n-1a2b3c4d
    """
    undone = undo_note(curate_context(app), note, _who(app))
    if app.json:
        emit_json({"undone": undone})
        return
    click.echo(f"{undone.id} waits again: {one_line(undone.text)}")


def _all_wait(app: App, ids: tuple[str, ...]) -> list[str]:
    """The whole ids; an unknown one stops the command before it decided on another."""
    return list(dict.fromkeys(find_waiting(curate_context(app), given).id for given in ids))


def read_key() -> str:
    """The key of a decision; any other decides nothing, and neither does Enter behind one."""
    click.echo(f"{KEYS}: ", nl=False)
    while (key := click.getchar().lower()[:1]) not in ("y", "n", "s", "q"):
        pass
    click.echo(key)
    return key


def _say_confirmed(app: App, note: Note) -> None:
    if note.kind == "wording":
        click.echo(f"{note.id} words rule {note.pattern} now")
        app.note(f"`session-memory rules show {note.pattern}` says whether agents are given it")
    elif note.kind == "rule":
        click.echo(f"{note.id} is rule {note.pattern} now")
        app.note("`session-memory rules distribute` gives it to agents")
    else:
        click.echo(f"{note.id} is in your part of MEMORY.md now")


def _line(note: Note) -> str:
    about = f" for {note.pattern}" if note.kind == "wording" else ""
    state = "" if note.state == "waiting" else f", {note.state}"
    origin = f"{note.flavor}, session {one_line(note.session)}{state}"
    return (
        f"{note.id}  {note.kind}{about}: {one_line(note.text)}\n  {origin}, {one_line(note.root)}"
    )


def _counted(shown: list[Note]) -> str:
    return "1 note waits" if len(shown) == 1 else f"{len(shown)} notes wait"


def _who(app: App) -> str:
    return default_reviewer(app.environ)
