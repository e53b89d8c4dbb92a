"""`session-memory project memory`: make, show, explain and edit the memories of projects."""

from __future__ import annotations

import os
import secrets
import shlex
import subprocess

import click

from session_memory.atomic_files import replace_file
from session_memory.cli import agent_notes, memory_audit
from session_memory.cli.app import App, VerbGroup, json_option, long_output, pass_app
from session_memory.cli.explain import explanation_lines
from session_memory.cli.memory_output import (
    show_evidence,
    show_memory,
    show_plan,
    show_report,
    show_results,
    show_status,
    show_trace,
)
from session_memory.cli.options import option
from session_memory.cli.output import emit_json, one_line, say
from session_memory.cli.session_argument import session_option
from session_memory.cli.store import reading
from session_memory.core.project.directory import current_directory, project_at
from session_memory.core.project.former_keys import key_hint
from session_memory.curate.explain import of_note, said_note
from session_memory.errors import EXIT_OK, EXIT_WARNINGS, NotFound, Refused, StoreMissing
from session_memory.memory.briefing import briefing_of
from session_memory.memory.consolidate import ConsolidationResult, consolidate, manual_owner
from session_memory.memory.context import MemoryContext, open_context, redact_with
from session_memory.memory.evidence import evidence_for
from session_memory.memory.extract import ALL_SESSIONS, ExtractReport, extract_from
from session_memory.memory.forget import remove_outputs
from session_memory.memory.instructions import read_instructions
from session_memory.memory.layout import MEMORY, TRACES, memory_root, normalised
from session_memory.memory.selection import ExtractRequest, select_candidates
from session_memory.memory.sources import read_sources
from session_memory.memory.swap import is_current
from session_memory.memory.traces import remove_files, trace_file
from session_memory.memory.user_part import keep_edits, page_with_user_part
from session_memory.model.open import open_model
from session_memory.model.port import Model
from session_memory.paths import private_dir
from session_memory.store import open_store, store_exists
from session_memory.store.line_choices import as_chosen, read_choices
from session_memory.store.memories import Claim
from session_memory.store.port import BackgroundStore, MemoryStore, Store

project_option = option(
    "--project", metavar="KEY|PATH", help="This project; default: the one of the current directory."
)


@click.group(cls=VerbGroup, name="memory")
def command() -> None:
    """What earlier sessions left for their project: traces, and the memory made of them.

    \b
    Examples:
      session-memory project memory extract --now
      session-memory project memory consolidate --all
      session-memory project memory show
      session-memory project memory why "bun run test"
      session-memory project memory status --json
    """


@command.command()
@session_option("This session, even if it was read before")
@option("--project", metavar="KEY|PATH", help="All sessions of this project that are due.")
@option("--now", "everything", is_flag=True, help="Every session that is due, not just a few.")
@option("--dry-run", is_flag=True, help="List the sessions that would be read.")
@json_option
@pass_app
def extract(
    app: App, session: str | None, project: str | None, everything: bool, dry_run: bool
) -> int:
    """Make traces of new and grown sessions, as the worker does when a session starts.

    Without a model (`[model] provider`), traces are distilled by rules.

    \b
    Examples:
      session-memory project memory extract --now
      session-memory project memory extract --session 42
      session-memory project memory extract --project shop --dry-run
    """
    if not app.config.memory.enabled:
        raise Refused("memory is turned off", hint="set `memory.enabled = true`")
    if dry_run:
        with reading(app) as store:
            request = _extract_request(app, store, session, project, everything)
            plan = select_candidates(store, request)
        show_plan(app, plan)
        return EXIT_OK
    request = ExtractRequest(limit=app.config.memory.max_sessions_per_start)
    if session is not None or project or everything:
        with reading(app) as store:
            request = _extract_request(app, store, session, project, everything)
    report = extract_from(lambda: _open(app), _context(app), request)
    show_report(app, report)
    return _exit_status(report)


def _exit_status(report: ExtractReport) -> int:
    return EXIT_WARNINGS if any(not dropped.final for dropped in report.dropped) else EXIT_OK


@command.command(name="consolidate")
@project_option
@option("--all", "everything", is_flag=True, help="Every project that has traces.")
@option("--force", is_flag=True, help="Make it again even if its traces did not change.")
@option("--dry-run", is_flag=True, help="List the memories that would be made.")
@json_option
@pass_app
def consolidate_command(
    app: App, project: str | None, everything: bool, force: bool, dry_run: bool
) -> int:
    """Make MEMORY.md and skills from a project's newest traces, as the worker does.

    Your part of MEMORY.md, between the marks, is kept. If anything fails, the previous memory stays
    in place.

    \b
    Examples:
      session-memory project memory consolidate
      session-memory project memory consolidate --all --dry-run
      session-memory project memory consolidate --project shop --force
    """
    if not app.config.memory.enabled:
        raise Refused("memory is turned off", hint="set `memory.enabled = true`")
    with reading(app) as store:
        roots = sorted(store.memories.roots()) if everything else [_root(store, project)]
        if dry_run:
            due = [root for root in roots if force or not _is_current(app, store, root)]
            results = [ConsolidationResult(root, "unchanged", "due") for root in due]
            show_results(app, results, dry_run=True)
            return EXIT_OK
        if not everything and not _has_memory(app, store, roots[0]):
            app.note(f"nothing is remembered of {roots[0]} yet")
            return EXIT_OK
        results = _consolidate(app, store, roots, force=force)
    show_results(app, results)
    return EXIT_WARNINGS if any(result.reason for result in results) else EXIT_OK


def _consolidate(
    app: App, store: Store, roots: list[str], *, force: bool = False
) -> list[ConsolidationResult]:
    owner = manual_owner(secrets.token_hex(6))
    claims = [Claim(root, owner) for root in roots]
    return consolidate(store, _context(app), claims, force=force)


def _has_memory(app: App, store: MemoryStore, root: str) -> bool:
    return root in store.memories.roots() or memory_root(app.paths.data, root).is_dir()


def _is_current(app: App, store: MemoryStore, root: str) -> bool:
    made_of = read_sources(store, root, app.config.memory.max_traces)
    return is_current(memory_root(app.paths.data, root), made_of.stamp, made_of.digests)


def _extract_request(
    app: App, store: MemoryStore, session: str | None, project: str | None, everything: bool
) -> ExtractRequest:
    limit = app.config.memory.max_sessions_per_start
    return ExtractRequest(
        session=None if session is None else store.find_session(session).id,
        root=_root(store, project) if project else None,
        limit=ALL_SESSIONS if everything or project else limit,
        everything=everything,
    )


def _open(app: App) -> Store:
    if not store_exists(app.paths.data):
        app.warn("nothing was captured yet: run `session-memory sweep` first")
        raise StoreMissing(f"no store at {app.paths.data}")
    return open_store(str(app.paths.data), app.clock())


def _context(app: App) -> MemoryContext:
    run = f"memory-{secrets.token_hex(4)}"

    def open_configured(store: BackgroundStore) -> Model | None:
        return open_model(app.config.model, app.environ, store.spend, app.clock, run)

    return open_context(app.paths, app.config, app.clock, open_configured)


def _root(store: MemoryStore, project: str | None) -> str:
    """The root of a project, given by key or path; default: of the current directory's project."""
    projects = store.projects()
    for candidate in projects:
        if project is not None and candidate.key == project:
            return normalised(candidate.root or project)
    if project in store.memories.roots():  # for example a root that is not on this machine
        return project
    directory = normalised(project) if project else current_directory()
    if project is not None and os.sep not in project and not os.path.isdir(project):
        hint = key_hint(projects, project, "`session-memory project list` names them")
        raise NotFound(f"no project {project!r}", hint=hint)
    at_directory = project_at(projects, directory)
    return normalised(at_directory.root or directory) if at_directory else directory


@command.command()
@click.argument("trace", metavar="SESSION", required=False)
@project_option
@option("--all", "everything", is_flag=True, help="Also lines that sessions are not told, and why.")
@json_option
@pass_app
@long_output
def show(app: App, trace: str | None, project: str | None, everything: bool) -> None:
    """Show the memory of a project, or the whole trace of one session.

    Every line says on how many sessions it rests.

    \b
    Examples:
      session-memory project memory show
      session-memory project memory show --all
      session-memory project memory show 42
      session-memory project memory show --project shop --json
    """
    with reading(app) as store:
        if trace is not None:
            session_trace = store.memories.find(trace)
            root = session_trace.root
            show_trace(app, memory_root(app.paths.data, root), session_trace)
            return
        root = _root(store, project)
        traces = store.memories.of_root(root)
        if not traces and project is None and not memory_root(app.paths.data, root).is_dir():
            app.note(f"nothing is remembered of {root} yet")
        folder = memory_root(app.paths.data, root)
        show_memory(app, folder, root, traces, everything=everything)


@command.command()
@project_option
@json_option
@pass_app
def briefing(app: App, project: str | None) -> None:
    """Show what a new session of a project is told without a model, line by line.

    `project memory why LINE` shows what a line rests on. Lines that CLAUDE.md or AGENTS.md
    say already are left out.

    \b
    Examples:
      session-memory project memory briefing
      session-memory project memory briefing --project shop --json
    """
    with reading(app) as store:
        root = _root(store, project)
        stored_project = next(
            (p for p in store.projects() if p.root and normalised(p.root) == root), None
        )
        instructions = [n for n in app.config.distribute.targets if n.endswith(".md")]
        known_text = read_instructions(root, instructions)
        lines = briefing_of(store, stored_project, known_text) if stored_project is not None else []
    choices = read_choices(app.paths.data, stored_project.key) if stored_project is not None else []
    chosen = as_chosen([line.text for line in lines], choices)
    if app.json:
        emit_json({"root": root, "lines": lines, "told": [text for text, _ in chosen]})
        return
    for text, _ in chosen:
        say(f"- {one_line(text)}")
    if not chosen:
        app.note(f"a new session in {root} is told nothing")


@command.command()
@project_option
@json_option
@pass_app
def path(app: App, project: str | None) -> None:
    """Print the folder that holds a project's memory.

    \b
    Examples:
      session-memory project memory path
      ls "$(session-memory project memory path --project shop)"
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
@long_output
def status(app: App) -> None:
    """Show traces, sessions that are due, running work and the latest warnings.

    \b
    Examples:
      session-memory project memory status
      session-memory project memory status --json
    """
    with reading(app) as store:
        due = select_candidates(store, ExtractRequest(limit=ALL_SESSIONS))
        show_status(app, store, due)


@command.command()
@click.argument("what", metavar="LINE-OR-SESSION")
@json_option
@pass_app
@long_output
def why(app: App, what: str) -> None:
    """Show the evidence for a line of a memory: session, event and text, or who noted it.

    \b
    Examples:
      session-memory project memory why "bun run test"
      session-memory project memory why n-1a2b3c4d
      session-memory project memory why "[e:285212833]"
      session-memory project memory why 42
    """
    with reading(app) as store:
        try:
            evidence = evidence_for(store, what, app.paths.data)
        except NotFound:
            if (note := said_note(app.paths.data, what)) is None:
                raise
            explanation = of_note(store, note)
            if app.json:
                emit_json({"note": explanation})
            else:
                say("\n".join(explanation_lines(explanation, app.clock())))
            return
        show_evidence(app, evidence)


@command.command()
@click.argument("trace", metavar="SESSION")
@option("--dry-run", is_flag=True, help="Show what would be removed.")
@json_option
@pass_app
def forget(app: App, trace: str, dry_run: bool) -> None:
    """Remove the trace of one session and make MEMORY.md again without it.

    The trace comes back only if the session goes on. The session itself stays; `session-memory
    forget --session` removes that too.

    \b
    Examples:
      session-memory project memory forget 42 --dry-run
      session-memory project memory forget 42
    """
    with reading(app) as store:
        removed = store.memories.find(trace)
        file = trace_file(app.paths.data, removed)
        if not dry_run:
            folder = memory_root(app.paths.data, removed.root)
            store.memories.drop(removed.session_id)
            remove_files(folder / TRACES, removed.thread_id, lambda text, _: app.warn(text))
            remove_outputs(folder)
            store.erase_traces()
            for result in _consolidate(app, store, [removed.root]):
                if result.reason:
                    app.warn(f"the memory was removed but not made again: {result.reason}")
    if app.json:
        emit_json(
            {
                "session_id": removed.session_id,
                "trace": removed.thread_id,
                "file": file and str(file),
                "dry_run": dry_run,
            }
        )
    else:
        click.echo(f"{removed.session_id}  {removed.thread_id}: {file or 'no file'}")
        click.echo("dry run: nothing was changed" if dry_run else "removed")


@command.command()
@project_option
@pass_app
def edit(app: App, project: str | None) -> None:
    """Open a project's MEMORY.md in your editor; what you write is kept.

    Lines that you add outside of your part are moved into it, since the rest is made again from
    traces.

    \b
    Examples:
      session-memory project memory edit
      EDITOR=nano session-memory project memory edit --project shop
    """
    editor = app.environ.get("VISUAL") or app.environ.get("EDITOR")
    with reading(app) as store:
        folder = memory_root(app.paths.data, _root(store, project))
        redact = redact_with(_context(app).make_redactor(store.tag_key))
    if not editor:
        raise Refused("no editor is set", hint=f"set EDITOR, or edit {folder / MEMORY}")
    file = private_dir(folder) / MEMORY
    before = file.read_text(encoding="utf-8") if file.exists() else page_with_user_part("")
    if not file.exists():
        replace_file(file, before.encode())
    subprocess.run([*shlex.split(editor), str(file)], check=True)
    after = file.read_text(encoding="utf-8", errors="replace")
    text = before if after == before else redact(keep_edits(before, after))
    if text != after:
        replace_file(file, text.encode("utf-8", "replace"))
    app.note("kept" if text != before else "nothing was changed")


for _verb in (agent_notes.notes, agent_notes.review, agent_notes.confirm, agent_notes.reject):
    command.add_command(_verb)
command.add_command(agent_notes.undo)
command.add_command(memory_audit.command)
