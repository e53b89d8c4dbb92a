"""`session-memory memory`: what sessions left for each project, made, shown, explained, removed."""

from __future__ import annotations

import os
import secrets
import shlex
import subprocess

import click

from session_memory.atomic_files import replace_file
from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.memory_output import (
    tell_consolidated,
    tell_evidence,
    tell_memory,
    tell_plan,
    tell_report,
    tell_status,
)
from session_memory.cli.output import emit_json
from session_memory.cli.session_argument import session_option
from session_memory.cli.store import reading
from session_memory.core.project.directory import current_directory, project_at
from session_memory.errors import EXIT_OK, EXIT_WARNINGS, NotFound, Refused, StoreMissing
from session_memory.memory.consolidate import Done, consolidate
from session_memory.memory.evidence import evidence_for
from session_memory.memory.extract import Around, Report, pipeline
from session_memory.memory.forget import drop_made
from session_memory.memory.jobs import staged, surroundings
from session_memory.memory.layout import MEMORY, TRACES, memory_root, normalised
from session_memory.memory.lock import manual_owner
from session_memory.memory.session_material import Wanted, choose
from session_memory.memory.swap import is_current, stamp_of
from session_memory.memory.traces import remove_files, trace_file
from session_memory.memory.user_part import keep_edits, page_of
from session_memory.model.open import open_model
from session_memory.model.port import Model
from session_memory.paths import private_dir
from session_memory.redact import render
from session_memory.store import open_store, store_exists
from session_memory.store.memories import Claim
from session_memory.store.port import BackgroundStore, MemoryStore, Store

EVERYTHING = 1_000_000

project_option = click.option(
    "--project", metavar="KEY|PATH", help="A project; without it the one of this directory."
)


@click.group(name="memory")
def command() -> None:
    """What sessions left for their project: traces, and the memory made of them.

    \b
    Examples:
      session-memory memory extract --now
      session-memory memory consolidate --all
      session-memory memory show
      session-memory memory why "bun run test"
      session-memory memory status --json
    """


@command.command()
@session_option("This session, whatever is known of it")
@click.option("--project", metavar="KEY|PATH", help="Every session of this project that is due.")
@click.option("--now", "everything", is_flag=True, help="All that is due, not only a few.")
@click.option("--dry-run", is_flag=True, help="Show which sessions would be read; write nothing.")
@json_option
@pass_app
def extract(
    app: App, session: str | None, project: str | None, everything: bool, dry_run: bool
) -> int:
    """Read new and grown sessions into traces, as the worker does when a session starts.

    Without a model (`[model] provider`) traces are distilled from what the sessions show.

    \b
    Examples:
      session-memory memory extract --now
      session-memory memory extract --session 42
      session-memory memory extract --project shop --dry-run
    """
    if not app.config.memory.enabled:
        raise Refused("memory is turned off", hint="set `memory.enabled = true`")
    if dry_run:
        with reading(app) as store:
            plan = choose(store, _wanted(app, store, session, project, everything))
        tell_plan(app, plan)
        return 0
    wanted = Wanted(limit=app.config.memory.max_sessions_per_start)
    if session is not None or project or everything:
        with reading(app) as store:
            wanted = _wanted(app, store, session, project, everything)
    report = pipeline(lambda: _open(app), _around(app), wanted)
    tell_report(app, report)
    return _exit(report)


def _exit(report: Report) -> int:
    return EXIT_WARNINGS if any(not one.final for one in report.dropped) else EXIT_OK


@command.command(name="consolidate")
@project_option
@click.option("--all", "everything", is_flag=True, help="Every project that has traces.")
@click.option("--force", is_flag=True, help="Make it again although its traces did not change.")
@click.option("--dry-run", is_flag=True, help="Show what would be made anew; change nothing.")
@json_option
@pass_app
def consolidate_command(
    app: App, project: str | None, everything: bool, force: bool, dry_run: bool
) -> int:
    """Make MEMORY.md and skills from a project's newest traces, as the worker does by itself.

    What you wrote between the marks of MEMORY.md stays. Whatever goes wrong, the last good memory
    stays in place.

    \b
    Examples:
      session-memory memory consolidate
      session-memory memory consolidate --all --dry-run
      session-memory memory consolidate --project shop --force
    """
    if not app.config.memory.enabled:
        raise Refused("memory is turned off", hint="set `memory.enabled = true`")
    with reading(app) as store:
        roots = sorted(store.memories.roots()) if everything else [_root(store, project)]
        if dry_run:
            due = [root for root in roots if force or not _is_current(app, store, root)]
            tell_consolidated(app, [Done(root, "unchanged", "due") for root in due], dry_run=True)
            return EXIT_OK
        if not everything and not _has_memory(app, store, roots[0]):
            app.note(f"nothing is remembered of {roots[0]} yet")
            return EXIT_OK
        done = _consolidate(app, store, roots, force=force)
    tell_consolidated(app, done)
    return EXIT_WARNINGS if any(one.reason for one in done) else EXIT_OK


def _consolidate(app: App, store: Store, roots: list[str], *, force: bool = False) -> list[Done]:
    owner = manual_owner(secrets.token_hex(6))
    stage = staged(_around(app), app.config, app.clock, force=force)
    return consolidate(store, stage, [Claim(root, owner) for root in roots])


def _has_memory(app: App, store: MemoryStore, root: str) -> bool:
    return root in store.memories.roots() or memory_root(app.paths.data, root).is_dir()


def _is_current(app: App, store: MemoryStore, root: str) -> bool:
    traces = store.memories.of_root(root, app.config.memory.max_traces)
    return is_current(memory_root(app.paths.data, root), stamp_of(traces))


def _wanted(
    app: App, store: MemoryStore, session: str | None, project: str | None, everything: bool
) -> Wanted:
    limit = app.config.memory.max_sessions_per_start
    return Wanted(
        session=None if session is None else store.find_session(session).id,
        root=_root(store, project) if project else None,
        limit=EVERYTHING if everything or project else limit,
        everything=everything,
    )


def _open(app: App) -> Store:
    if not store_exists(app.paths.data):
        app.warn("nothing was captured yet: run `session-memory sweep` first")
        raise StoreMissing(f"no store at {app.paths.data}")
    return open_store(str(app.paths.data), app.clock())


def _around(app: App) -> Around:
    run = f"memory-{secrets.token_hex(4)}"

    def model(store: BackgroundStore) -> Model | None:
        return open_model(app.config.model, app.environ, store.spend, app.clock, run)

    return surroundings(app.paths, app.config, app.clock, model)


def _root(store: MemoryStore, project: str | None) -> str:
    """The place a project's memory belongs to: by its key, by a directory, or by where we are."""
    known = store.projects()
    for one in known:
        if project is not None and one.key == project:
            return normalised(one.root or project)
    if project in store.memories.roots():  # of a place that is not on this machine, for instance
        return project
    here = normalised(project) if project else current_directory()
    if project is not None and os.sep not in project and not os.path.isdir(project):
        raise NotFound(f"no project {project!r}", hint="`session-memory sessions` names projects")
    at_directory = project_at(known, here)
    return normalised(at_directory.root or here) if at_directory else here


@command.command()
@click.argument("trace", metavar="SESSION", required=False)
@project_option
@json_option
@pass_app
def show(app: App, trace: str | None, project: str | None) -> None:
    """Show the memory of a project, or whole what one session left.

    \b
    Examples:
      session-memory memory show
      session-memory memory show 42
      session-memory memory show --project shop --json
    """
    with reading(app) as store:
        if trace is not None:
            found = store.memories.find(trace)
            tell_memory(app, memory_root(app.paths.data, found.root), found.root, [found])
            return
        root = _root(store, project)
        traces = store.memories.of_root(root)
        if not traces and project is None and not memory_root(app.paths.data, root).is_dir():
            app.note(f"nothing is remembered of {root} yet")
        tell_memory(app, memory_root(app.paths.data, root), root, traces, whole=False)


@command.command()
@project_option
@json_option
@pass_app
def path(app: App, project: str | None) -> None:
    """Print the folder that holds a project's memory.

    \b
    Examples:
      session-memory memory path
      ls "$(session-memory memory path --project shop)"
    """
    with reading(app) as store:
        folder = memory_root(app.paths.data, _root(store, project))
    if app.json:
        emit_json({"path": str(folder), "exists": folder.is_dir()})
    else:
        click.echo(str(folder))


@command.command()
@json_option
@pass_app
def status(app: App) -> None:
    """What is remembered, what is due and why, and what went wrong last.

    \b
    Examples:
      session-memory memory status
      session-memory memory status --json
    """
    with reading(app) as store:
        due = choose(store, Wanted(limit=EVERYTHING))
        tell_status(app, store, due)


@command.command()
@click.argument("what", metavar="LINE-OR-SESSION")
@json_option
@pass_app
def why(app: App, what: str) -> None:
    """Show the evidence for a line: session, event and what was said there.

    \b
    Examples:
      session-memory memory why "bun run test"
      session-memory memory why "[e:285212833]"
      session-memory memory why 42
    """
    with reading(app) as store:
        tell_evidence(app, evidence_for(store, what, app.paths.data))


@command.command()
@click.argument("trace", metavar="SESSION")
@click.option("--dry-run", is_flag=True, help="Show what would go; change nothing.")
@json_option
@pass_app
def forget(app: App, trace: str, dry_run: bool) -> None:
    """Remove what one session left and make MEMORY.md again without it.

    It comes back only if the session goes on. The session itself stays: `session-memory forget
    --session` removes that too.

    \b
    Examples:
      session-memory memory forget 42 --dry-run
      session-memory memory forget 42
    """
    with reading(app) as store:
        found = store.memories.find(trace)
        file = trace_file(app.paths.data, found)
        if not dry_run:
            folder = memory_root(app.paths.data, found.root)
            store.memories.drop(found.session_id)
            remove_files(folder / TRACES, found.thread_id, lambda text, _: app.warn(text))
            drop_made(folder)
            store.erase_traces()
            for one in _consolidate(app, store, [found.root]):
                if one.reason:
                    app.warn(f"what was made of it is gone, a new one is not: {one.reason}")
    if app.json:
        emit_json(
            {
                "session_id": found.session_id,
                "trace": found.thread_id,
                "file": file and str(file),
                "dry_run": dry_run,
            }
        )
    else:
        click.echo(f"{found.session_id}  {found.thread_id}: {file or 'no file'}")
        click.echo("dry run: nothing was changed" if dry_run else "removed")


@command.command()
@project_option
@pass_app
def edit(app: App, project: str | None) -> None:
    """Open a project's MEMORY.md in your editor; what you write is kept.

    Lines you add outside the part marked as yours are moved into it, since the rest is made again
    from the traces.

    \b
    Examples:
      session-memory memory edit
      EDITOR=nano session-memory memory edit --project shop
    """
    editor = app.environ.get("VISUAL") or app.environ.get("EDITOR")
    with reading(app) as store:
        folder = memory_root(app.paths.data, _root(store, project))
        redactor = _around(app).make_redactor(store.tag_key)
    if not editor:
        raise Refused("no editor is set", hint=f"set EDITOR, or edit {folder / MEMORY}")
    file = private_dir(folder) / MEMORY
    before = file.read_text(encoding="utf-8") if file.exists() else page_of("")
    if not file.exists():
        replace_file(file, before.encode())
    subprocess.run([*shlex.split(editor), str(file)], check=True)
    after = file.read_text(encoding="utf-8", errors="replace")
    kept = before if after == before else render(redactor.redact_text(keep_edits(before, after)))
    if kept != after:
        replace_file(file, kept.encode("utf-8", "replace"))
    app.note("kept" if kept != before else "nothing was changed")
