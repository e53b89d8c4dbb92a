"""`project journal compile|query|lint|health`: the knowledge base made of daily logs."""

from __future__ import annotations

import re

import click
import msgspec

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.journal_context import any_context, find_journal, project_option
from session_memory.cli.options import option
from session_memory.cli.output import emit_json, safe
from session_memory.errors import EXIT_OK, EXIT_WARNINGS, UsageError
from session_memory.journal.compile import CompileReport, compile_logs, report_lines, select_logs
from session_memory.journal.context import compile_context
from session_memory.journal.health import Health
from session_memory.journal.health import health as read_health
from session_memory.journal.lint import lint as run_lint
from session_memory.journal.query import query as ask

EXIT_ERRORS = 1
_ENTRY_KEYS = re.compile(r" ?<!-- entry=[0-9a-f,]+ -->")


@click.command()
@option("--all", "everything", is_flag=True, help="Every log, from its beginning.")
@option("--file", metavar="LOG", help="Only this log, such as 2026-03-02.md.")
@option("--dry-run", is_flag=True, help="Name the logs that would be compiled.")
@project_option
@json_option
@pass_app
def compile(
    app: App, everything: bool, file: str | None, dry_run: bool, project: str | None
) -> int:
    """Make articles of daily logs that are new or changed. Exit 3 if a log failed or was deferred.

    \b
    Examples:
      session-memory project journal compile
      session-memory project journal compile --file 2026-03-02.md --dry-run
    """
    if everything and file:
        raise UsageError("either --all or --file")
    journal = find_journal(app, project)
    with any_context(app) as context:
        compiling = compile_context(context, journal, app.warn)
        names = select_logs(compiling, everything=everything, file=file)
        report = CompileReport()
        if not dry_run:
            report = compile_logs(compiling, names, whole=everything)
    if app.json:
        emit_json({"dry_run": dry_run, "logs": names, **msgspec.to_builtins(report)})
    else:
        planned = [f"{name}: would be compiled" for name in names] or ["nothing to compile"]
        for line in planned if dry_run else report_lines(report):
            click.echo(safe(line))
    return EXIT_WARNINGS if report.failed or report.deferred else EXIT_OK


@click.command()
@click.argument("question")
@option("--file-back", is_flag=True, help="Keep the answer as an article.")
@project_option
@json_option
@pass_app
def query(app: App, question: str, file_back: bool, project: str | None) -> int:
    """Ask the knowledge base a question. Exit 3 if nothing was found.

    \b
    Examples:
      session-memory project journal query "why do we cache tokens"
      session-memory project journal query "how is the parser tested" --file-back
    """
    journal = find_journal(app, project)
    with any_context(app) as context:
        result = ask(compile_context(context, journal, app.warn), question, file_back=file_back)
    text = _ENTRY_KEYS.sub("", result.text)
    if app.json:
        shown = msgspec.structs.replace(result, text=text)
        emit_json({"question": question, **msgspec.to_builtins(shown)})
    else:
        click.echo(safe(text))
        if result.filed:
            click.echo(f"\nfiled as {safe(result.filed)}")
    return EXIT_WARNINGS if result.nothing else EXIT_OK


@click.command()
@option("--structural-only", is_flag=True, help="Do not ask a model for contradictions.")
@option("--fix", is_flag=True, help="Add missing backlinks and index rows first.")
@project_option
@json_option
@pass_app
def lint(app: App, structural_only: bool, fix: bool, project: str | None) -> int:
    """Check the knowledge base and write a report. Exit 1 only if there are errors.

    \b
    Examples:
      session-memory project journal lint
      session-memory project journal lint --structural-only --fix
    """
    journal = find_journal(app, project)
    with any_context(app) as context:
        compiling = compile_context(context, journal, app.warn)
        result = run_lint(compiling, structural_only=structural_only, fix=fix)
    if app.json:
        rows = [
            {**msgspec.to_builtins(issue), "severity": issue.severity} for issue in result.issues
        ]
        emit_json({"issues": rows, "fixed": result.fixed, "report": result.report})
    else:
        for issue in result.issues:
            click.echo(safe(f"{issue.severity}: {issue.check}: {issue.where}: {issue.what}"))
        counts = (f"{result.count(s)} {s}s" for s in ("error", "warning", "suggestion"))
        click.echo(", ".join((*counts, f"{result.fixed} fixed")))
    return EXIT_ERRORS if result.count("error") else EXIT_OK


@click.command()
@option("--strict", is_flag=True, help="Exit 3 if something needs attention.")
@project_option
@json_option
@pass_app
def health(app: App, strict: bool, project: str | None) -> int:
    """Show the state of the journal from local files. Exit 1 if its structure has errors.

    \b
    Examples:
      session-memory project journal health
      session-memory project journal health --strict --json
    """
    state = read_health(find_journal(app, project), app.clock(), app.warn)
    status = _exit_status(state, strict=strict)
    if app.json:
        emit_json({**msgspec.to_builtins(state), "exit_code": status})
    else:
        for line in _lines(state):
            click.echo(safe(line))
    return status


def _exit_status(state: Health, *, strict: bool) -> int:
    if state.errors:
        return EXIT_ERRORS
    return EXIT_WARNINGS if strict and state.attention else EXIT_OK


def _lines(state: Health) -> list[str]:
    failed, run = state.failed_contexts, state.last_run
    return [
        f"journal            {state.root}",
        "counts             " + ", ".join(f"{n} {name}" for name, n in state.counts.items()),
        f"pending logs       {', '.join(state.pending) or 'none'}",
        f"failed contexts    {failed.pending} pending, {failed.permanent} given up",
        f"last compile       {run.compiled_at or 'never'}",
        f"last lint          {run.last_lint or 'never'}",
        f"last flush         {run.flush or 'never'}",
        f"questions, cost    {state.query_count}, ${state.total_cost_usd:.4f}",
        *(f"error: {text}" for text in state.errors),
        *(f"attention: {text}" for text in state.attention),
    ]


VERBS = (compile, query, lint, health)
