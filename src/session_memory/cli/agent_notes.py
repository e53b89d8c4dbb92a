"""`session-memory project memory notes`: what agents wrote for the user, and deciding on it."""

from __future__ import annotations

import sys

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json, one_line
from session_memory.cli.rules_next import curate_context
from session_memory.curate.agent_notes import Note, read_notes, waiting
from session_memory.curate.decisions import default_reviewer
from session_memory.curate.note_decisions import confirm_note, reject_note, undo_note
from session_memory.errors import UsageError

KEYS = "y confirms, n rejects, s skips, q ends"
_ids = click.argument("ids", nargs=-1, required=True, metavar="NOTE...")


@click.command()
@click.option("--all", "everything", is_flag=True, help="Also those that were decided on.")
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
    if not sys.stdin.isatty():
        raise UsageError(
            "review needs a terminal", hint="`project memory confirm NOTE` decides on one by its id"
        )
    left = waiting(read_notes(app.paths.data))
    if not left:
        click.echo("no note waits")
    for note in left:
        click.echo(_line(note))
        click.echo(f"{KEYS}: ", nl=False)
        key = click.getchar().lower()
        click.echo(key)
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
    confirmed = [confirm_note(curate_context(app), given, _who(app)) for given in ids]
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
    rejected = [reject_note(curate_context(app), given) for given in ids]
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


def _say_confirmed(app: App, note: Note) -> None:
    if note.kind in ("rule", "wording"):
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
