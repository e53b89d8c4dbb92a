"""`session-memory project`: which projects there are, and which of them are one."""

from __future__ import annotations

from collections import Counter

import click

from session_memory.cli.app import App, json_option, long_output, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import Column, echo_more, emit_json, one_line, table
from session_memory.cli.store import alone, reading
from session_memory.core.project.former_keys import key_hint
from session_memory.core.project.identity import DEFAULT_KEY, project_key
from session_memory.core.schema import Project
from session_memory.errors import NotFound, UsageError
from session_memory.journal.daily import days
from session_memory.journal.files import read_text
from session_memory.journal.paths import journal_paths
from session_memory.memory.layout import MEMORY, mark_for_rebuild, memory_root
from session_memory.memory.user_part import user_part_of
from session_memory.store.port import SessionQuery, SessionReader

SHOWN = 50
_COLUMNS = (
    Column("project"),
    Column("sessions"),
    Column("root", folds=True),
    Column("remote", drop=1),
    Column("changed", drop=2),
)


@click.command(name="list")
@option("--all", "everything", is_flag=True, help=f"All of them, not only {SHOWN}.")
@json_option
@pass_app
@long_output
def list_(app: App, everything: bool) -> None:
    """List projects with their root, remote and number of sessions, the busiest first.

    \b
    Example:
      session-memory project list
    """
    with reading(app) as store:
        projects = store.projects()
        counts = Counter(s.project_id for s in store.sessions(SessionQuery()))
    if app.json:
        emit_json({"projects": [{"sessions": counts[p.id], "project": p} for p in projects]})
        return
    if not projects:
        click.echo("no project is known yet; `session-memory sweep` finds them")
        return
    projects.sort(key=lambda p: -counts[p.id])
    shown = projects if everything else projects[:SHOWN]
    lines = [(p.key, counts[p.id], p.root or "-", p.remote or "-", _history(p)) for p in shown]
    click.echo(table(lines, _COLUMNS))
    echo_more(len(projects) - len(shown))


def _history(project: Project) -> str:
    merged = f"with {', '.join(project.merged)}" if project.merged else ""
    renamed = f"was {project.found_key}" if project.found_key else ""
    return one_line("; ".join(filter(None, (merged, renamed))))


@click.command(name="merge")
@click.argument("project", metavar="PROJECT")
@click.argument("into", metavar="INTO", required=False)
@option("--undo", is_flag=True, help="Make PROJECT a project of its own again.")
@json_option
@pass_app
def merge(app: App, project: str, into: str | None, undo: bool) -> None:
    """Make PROJECT part of the project INTO, with all its sessions and directories.

    Sessions that are captured there later go to INTO too. Nothing is lost: --undo takes it back.

    \b
    Examples:
      session-memory project merge shop-old shop
      session-memory project merge --undo shop-old
    """
    if undo == (into is not None):
        raise UsageError("name PROJECT and INTO, or --undo and PROJECT")
    with alone(app, "project merge") as store:
        part = _named(store.found_projects(), project)
        before = _holder_of(store, part)
        if into is None:
            if before.id == part.id:
                raise NotFound(f"project {part.key} is not part of another one")
        else:
            whole = _holder_of(store, _named(store.found_projects(), into))
            if before.id != part.id:
                raise UsageError(f"project {part.key} is part of {before.key} already")
            if whole.id == part.id:
                raise UsageError(f"project {whole.key} cannot be part of itself")
            if DEFAULT_KEY in (part.key, whole.key):
                raise UsageError(f"{DEFAULT_KEY} holds sessions without a project")
            before = whole
        with store.writing() as writer:
            moved = (
                writer.split_project(part.id)
                if into is None
                else writer.merge_project(part.id, before.id)
            )
    for root in (part.root, before.root):
        if root:  # what was made of the sessions of both has to be made again
            mark_for_rebuild(memory_root(app.paths.data, root))
    aside = [] if undo else _set_aside(app, part.root)
    if app.json:
        done = {"project": part.key, "with": before.key, "undone": undo, "sessions": moved}
        emit_json({**done, "set_aside": aside})
    elif undo:
        click.echo(f"{part.key} is a project of its own again; {moved} sessions moved back")
    else:
        click.echo(f"{part.key} is part of {before.key} now; {moved} sessions moved")
        for path in aside:
            click.echo(f"not used until that is undone; copy what {before.key} needs: {path}")
        click.echo(f"undo: session-memory project merge --undo {part.key}")


@click.command(name="rename")
@click.argument("project", metavar="PROJECT")
@click.argument("name", metavar="NAME", required=False)
@option("--undo", is_flag=True, help="Restore the key that was found for PROJECT.")
@json_option
@pass_app
def rename(app: App, project: str, name: str | None, undo: bool) -> None:
    """Call PROJECT by another NAME; its root stays, so later sessions find it.

    \b
    Examples:
      session-memory project rename shop-3f2a1c storefront
      session-memory project rename --undo storefront
    """
    if undo == (name is not None):
        raise UsageError("name PROJECT and NAME, or --undo and PROJECT")
    with alone(app, "project rename") as store:
        projects = store.found_projects()
        old = _named(projects, project)
        new = old.found_key if name is None else project_key(name)
        if new is None:
            wrong = f"project {old.key} was not renamed" if undo else f"{name!r} cannot be a name"
            raise UsageError(wrong)
        if name is not None and new != name:
            raise UsageError(f"{name!r} cannot be a name; {new!r} could")
        if any(other.key == new and other.id != old.id for other in projects):
            raise UsageError(f"there is a project {new} already; merge them if they are one")
        if DEFAULT_KEY in (old.key, new):
            raise UsageError(f"{DEFAULT_KEY} holds sessions without a project")
        with store.writing() as writer:
            writer.rename_project(old.id, new)
    if app.json:
        emit_json({"project": new, "was": old.key, "undone": undo})
    else:
        click.echo(f"{old.key} is called {new} now")


def _set_aside(app: App, root: str | None) -> list[str]:
    """What people wrote for a project that is now part of another: its notes and its journal."""
    if root is None:
        return []
    page = memory_root(app.paths.data, root) / MEMORY
    journal = journal_paths(app.paths.data, root, app.config.journal.vault)
    found = [page] if user_part_of(read_text(page) or "") else []
    found += [journal.daily] if not journal.is_vault and days(journal) else []
    return [str(path) for path in found]


def _named(projects: list[Project], key: str) -> Project:
    for project in projects:
        if project.key == key:
            return project
    raise NotFound(f"no project {key}", hint=key_hint(projects, key, "session-memory project list"))


def _holder_of(store: SessionReader, part: Project) -> Project:
    """The project that one is part of, or itself."""
    return next((p for p in store.projects() if p.id == part.id or part.key in p.merged), part)
