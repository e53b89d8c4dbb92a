"""`session-memory store repair`: repair what fsck found, layer by layer; a plan unless --apply."""

from __future__ import annotations

import os
import sys

import click
import msgspec

from session_memory.cli.app import App, confirm_or_leave, json_option, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import byte_progress, emit_json, one_line
from session_memory.cli.store import changing, sweep_context
from session_memory.errors import EXIT_OK, EXIT_WARNINGS, Refused
from session_memory.store.damage import LOG_SUFFIXES, absent, damaged_copies, known_damage
from session_memory.store.lock import exclusive
from session_memory.store.maintenance import (
    find_damage,
    knows_forgotten,
    preview_rebuild,
    rebuild,
    remove_stand_ins,
)
from session_memory.store.port import SessionQuery
from session_memory.store.values import Repaired
from session_memory.worker.sweep import sweep_and_mine

LAYERS = ("database", "orphans", "segments", "counts", "usage", "index", "checksums")


@click.command(name="repair")
@option(
    "--layer",
    "layers",
    type=click.Choice(LAYERS),
    multiple=True,
    help="Only this layer; repeatable.",
)
@option("--apply", "apply_", is_flag=True, help="Repair; without this, only show the plan.")
@option("--without-marks", is_flag=True, help="Read logs although forget marks are lost.")
@option("--delete-kept", is_flag=True, help="Delete damaged databases that were merged.")
@json_option
@pass_app
def command(
    app: App, layers: tuple[str, ...], apply_: bool, without_marks: bool, delete_kept: bool
) -> int:
    """Repair what `store fsck` found: database, orphans, segments, counts, usage, index.

    A damaged or missing database is rebuilt from every row that can still be read, from the stored
    texts, and from the agents' logs, which are read again. What was forgotten stays forgotten. The
    damaged file is kept under another name until you delete it with --delete-kept.

    The next sweep reads the texts of a damaged segment again from the agent's log, if that log
    still exists; what no log holds any more is listed as lost (exit code 3).

    \b
    Examples:
      session-memory store repair                   show what would be done
      session-memory store repair --apply
      session-memory store repair --layer index --apply
      session-memory store repair --delete-kept     once you are happy with the result
    """
    if delete_kept:
        return _delete_copies(app)
    chosen_layers = layers or LAYERS
    done: list[Repaired] = []
    wrong = None
    if "database" in chosen_layers:
        wrong, done = _database(app, apply_=apply_, unmarked=without_marks)
    if wrong is None or apply_:
        with changing(app, "a sweep") as store:
            for layer in chosen_layers:
                if layer != "database":
                    done += store.repair(layer, dry_run=not apply_)
    _print_done(app, done, apply_, wrong)
    return EXIT_WARNINGS if any(entry.lost for entry in done) else EXIT_OK


def _print_done(app: App, done: list[Repaired], apply_: bool, wrong: str | None) -> None:
    if app.json:
        emit_json({"applied": apply_, "damage": wrong, "repairs": done})
        return
    for entry in done:
        click.echo(f"{entry.layer}: {one_line(entry.detail)}")
    state = "repaired" if apply_ else "to repair; --apply does it"
    click.echo(f"{len(done)} {state}" if done else "nothing to repair")
    if apply_ and wrong and (copies := damaged_copies(str(app.paths.data))):
        click.echo(
            f"kept: {', '.join(copies)}; `session-memory store repair --delete-kept` deletes it"
        )


def _database(app: App, *, apply_: bool, unmarked: bool) -> tuple[str | None, list[Repaired]]:
    """What is wrong with the database, and what was or would be done about it."""
    directory = str(app.paths.data)
    if not app.paths.data.is_dir():
        raise absent(directory)
    with exclusive(os.path.join(directory, "sweep.lock"), "a sweep"):
        app.note("checking the database")
        wrong = find_damage(directory)
        if wrong is None:
            return None, []
        done = [Repaired("database", wrong)]
        if not apply_:
            return wrong, done + preview_rebuild(directory)
        if not (unmarked or knows_forgotten(directory)):
            _ask()
        built = rebuild(directory, app.clock(), unmarked=True, step=app.note)
    done += built.done
    app.note("reading the logs again")
    with byte_progress(shown=app.shows_progress) as bar:
        context = msgspec.structs.replace(sweep_context(app), progress=bar)
        report = sweep_and_mine(context, app.paths.last_sweep)
    for text in report.warnings:
        app.warn(one_line(text))
    with exclusive(os.path.join(directory, "sweep.lock"), "a sweep"):
        done += remove_stand_ins(directory)
    done.append(Repaired("database", f"{report.events} events read again from logs"))
    return wrong, done + _still_missing(app, built.expected)


def _ask() -> None:
    warning = (
        "the record of what you forgot is lost: reading the logs can bring forgotten text back"
    )
    if not sys.stdin.isatty():
        raise Refused(
            warning,
            hint="put forget-marks.json back from a backup, or add --without-marks to go on",
        )
    confirm_or_leave(f"{warning}. Go on?", "nothing was repaired")


def _still_missing(app: App, expected: dict[tuple[str, str], int]) -> list[Repaired]:
    """Sessions that have fewer events than they had, by name."""
    with changing(app, "a sweep") as store:
        here = {(s.flavor, s.external_id): s.event_count for s in store.sessions(SessionQuery())}
    return [
        Repaired("database", f"session {name}: {count - here.get(key, 0)} events lost", lost=count)
        for key, count in expected.items()
        if here.get(key, 0) < count
        for name in (key[1],)
    ]


def _delete_copies(app: App) -> int:
    directory = str(app.paths.data)
    with exclusive(os.path.join(directory, "sweep.lock"), "a sweep"):
        if known_damage(directory) is not None:
            raise Refused(
                "what was kept has not been merged into the store yet",
                hint="run `session-memory store repair --apply` first",
            )
        names = damaged_copies(directory)
        for name in names:
            for suffix in ("", *LOG_SUFFIXES):
                app.paths.data.joinpath(name + suffix).unlink(missing_ok=True)
    if app.json:
        emit_json({"deleted": names})
    else:
        click.echo(f"deleted: {', '.join(names)}" if names else "nothing is kept")
    return EXIT_OK
