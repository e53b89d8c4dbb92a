"""`session-memory journal compile|query|lint|health`: the knowledge made of daily logs."""

from __future__ import annotations

import re

import click
import msgspec

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.journal_context import desk_anyway, place_here, project_option
from session_memory.cli.output import emit_json, safe
from session_memory.errors import EXIT_OK, EXIT_WARNINGS, UsageError
from session_memory.journal.compile import Report, chosen, compile_logs, told
from session_memory.journal.entry_writer import tools_of
from session_memory.journal.health import Health
from session_memory.journal.health import health as read_health
from session_memory.journal.lint import lint as run_lint
from session_memory.journal.query import query as ask

EXIT_ERRORS = 1
_MARK = re.compile(r" ?<!-- entry=[0-9a-f,]+ -->")


@click.command()
@click.option("--all", "everything", is_flag=True, help="Every log, from its beginning.")
@click.option("--file", metavar="LOG", help="Only this log, such as 2026-03-02.md.")
@click.option("--dry-run", is_flag=True, help="Name the logs that would be compiled.")
@project_option
@json_option
@pass_app
def compile(
    app: App, everything: bool, file: str | None, dry_run: bool, project: str | None
) -> int:
    """Make articles of daily logs that are new or changed. Exit 3 when one failed and waits.

    \b
    Examples:
      session-memory journal compile
      session-memory journal compile --file 2026-03-02.md --dry-run
    """
    if everything and file:
        raise UsageError("either --all or --file")
    place = place_here(app, project)
    with desk_anyway(app) as desk:
        tools = tools_of(desk, place, app.warn)
        names = chosen(tools, everything=everything, file=file)
        report = Report() if dry_run else compile_logs(tools, names, whole=everything)
    if app.json:
        emit_json({"dry_run": dry_run, "logs": names, **msgspec.to_builtins(report)})
    else:
        planned = [f"{name}: would be compiled" for name in names] or ["nothing to compile"]
        for line in planned if dry_run else told(report):
            click.echo(safe(line))
    return EXIT_WARNINGS if report.failed or report.deferred else EXIT_OK


@click.command()
@click.argument("question")
@click.option("--file-back", is_flag=True, help="Keep the answer as an article.")
@project_option
@json_option
@pass_app
def query(app: App, question: str, file_back: bool, project: str | None) -> int:
    """Ask the knowledge base. Exit 3 when nothing was found.

    \b
    Examples:
      session-memory journal query "why do we cache tokens"
      session-memory journal query "how is the parser tested" --file-back
    """
    place = place_here(app, project)
    with desk_anyway(app) as desk:
        found = ask(tools_of(desk, place, app.warn), question, file_back=file_back)
    if app.json:
        shown = msgspec.structs.replace(found, text=_MARK.sub("", found.text))
        emit_json({"question": question, **msgspec.to_builtins(shown)})
    else:
        click.echo(safe(_MARK.sub("", found.text)))
        if found.filed:
            click.echo(f"\nfiled as {safe(found.filed)}")
    return EXIT_WARNINGS if found.nothing else EXIT_OK


@click.command()
@click.option("--structural-only", is_flag=True, help="Ask no model for contradictions.")
@click.option("--fix", is_flag=True, help="Add missing backlinks and index rows first.")
@project_option
@json_option
@pass_app
def lint(app: App, structural_only: bool, fix: bool, project: str | None) -> int:
    """Check the knowledge base and write a report. Exit 1 only when there are errors.

    \b
    Examples:
      session-memory journal lint
      session-memory journal lint --structural-only --fix
    """
    place = place_here(app, project)
    with desk_anyway(app) as desk:
        tools = tools_of(desk, place, app.warn)
        found = run_lint(tools, structural_only=structural_only, fix=fix)
    if app.json:
        rows = [{**msgspec.to_builtins(one), "severity": one.severity} for one in found.issues]
        emit_json({"issues": rows, "fixed": found.fixed, "report": found.report})
    else:
        for one in found.issues:
            click.echo(safe(f"{one.severity}: {one.check}: {one.where}: {one.what}"))
        counts = (f"{found.count(s)} {s}s" for s in ("error", "warning", "suggestion"))
        click.echo(", ".join((*counts, f"{found.fixed} fixed")))
    return EXIT_ERRORS if found.count("error") else EXIT_OK


@click.command()
@click.option("--strict", is_flag=True, help="Exit 3 when something needs attention.")
@project_option
@json_option
@pass_app
def health(app: App, strict: bool, project: str | None) -> int:
    """Tell how the journal is doing, from local files. Exit 1 when its structure has errors.

    \b
    Examples:
      session-memory journal health
      session-memory journal health --strict --json
    """
    found = read_health(place_here(app, project), app.clock(), app.warn)
    status = _status(found, strict=strict)
    if app.json:
        emit_json({**msgspec.to_builtins(found), "exit_code": status})
    else:
        for line in _lines(found):
            click.echo(safe(line))
    return status


def _status(found: Health, *, strict: bool) -> int:
    if found.errors:
        return EXIT_ERRORS
    return EXIT_WARNINGS if strict and found.attention else EXIT_OK


def _lines(found: Health) -> list[str]:
    failed, run = found.failed_contexts, found.last_run
    return [
        f"journal            {found.root}",
        "counts             " + ", ".join(f"{n} {name}" for name, n in found.counts.items()),
        f"pending logs       {', '.join(found.pending) or 'none'}",
        f"failed contexts    {failed.pending} pending, {failed.permanent} given up",
        f"last compile       {run.compiled_at or 'never'}",
        f"last lint          {run.last_lint or 'never'}",
        f"last flush         {run.flush or 'never'}",
        f"questions, cost    {found.query_count}, ${found.total_cost_usd:.4f}",
        *(f"error: {text}" for text in found.errors),
        *(f"attention: {text}" for text in found.attention),
    ]


VERBS = (compile, query, lint, health)
