"""`session-memory project memory audit`: what each agent of a project has been told."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from session_memory.cli.app import App, json_option, pass_app, yes_option
from session_memory.cli.options import option
from session_memory.cli.output import emit_json, fit, one_line, paint, say
from session_memory.cli.recall_options import project_key, project_option
from session_memory.cli.store import reading
from session_memory.core.project.former_keys import key_hint
from session_memory.errors import NotFound, UsageError

if TYPE_CHECKING:
    from session_memory.memory.native.audit import Audit, Finding

_SHOWN_CHARS = 160


@click.command(name="audit")
@project_option
@option("--apply", "apply_fixes", is_flag=True, help="Make the proposed fixes, each after a yes.")
@option("--undo", metavar="ID", help="Undo a fix that was made here.")
@yes_option
@json_option
@pass_app
def command(app: App, project: str | None, apply_fixes: bool, undo: str | None, yes: bool) -> None:
    """Show what the agents of a project have been told in files of their own.

    CLAUDE.md with its imports and rules, AGENTS.md, GEMINI.md, instructions of Copilot, rules of
    Cursor, memories of Claude Code and Codex: which file costs how much in every session, what
    contradicts what, what is stale, what is said twice. Files are only read. `--apply` makes the
    proposed fixes in files of the repository, each after a yes; `--undo` takes one back.

    \b
    Examples:
      session-memory project memory audit
      session-memory project memory audit --json
      session-memory project memory audit --apply
      session-memory project memory audit --undo nm-1a2b3c4d
    """
    if apply_fixes and undo:
        raise UsageError("--apply and --undo exclude each other")
    if undo:
        _undo(app, undo)
        return
    made = _audit(app, project)
    if apply_fixes:
        _apply(app, made, yes=yes)
    elif app.json:
        emit_json(as_json(app, made))
    else:
        _show(made)


def _audit(app: App, project: str | None) -> Audit:
    from session_memory.worker.memory_audit import audit_project

    with reading(app) as store:
        key = project_key(store, project)
        projects = store.projects()
        local_project = next((candidate for candidate in projects if candidate.key == key), None)
        if local_project is None or not local_project.root:
            hint = key_hint(projects, key, "`session-memory project list` names them")
            raise NotFound(f"no project {key} with a folder is known", hint=hint)
        made = audit_project(store, local_project, app.config, app.environ, str(Path.home()))
    for text in made.warnings:
        app.warn(text)
    return made


def as_json(app: App, made: Audit) -> dict[str, object]:
    """The audit for programs; texts of files are left out, statements are quoted."""
    import msgspec

    from session_memory.curate.native_fixes import diff_of, read_applied

    files = [
        {
            "name": file.name,
            "path": file.path,
            "scope": file.scope,
            "agents": file.agents,
            "every_session": file.always,
            "tokens": file.tokens,
            "imported_by": file.imported_by or None,
        }
        for file in made.files
    ]
    findings = [
        {
            **msgspec.to_builtins(finding),
            "diff": diff_of(finding.fix, finding.quotes[-1].file) if finding.fix else None,
        }
        for finding in made.findings
    ]
    applied = [fix for fix in read_applied(app.paths.data) if fix.root == made.root]
    return {
        "project": made.project,
        "root": made.root,
        "tokens_every_session": {agent: made.tokens(agent) for agent in made.readers()},
        "files": files,
        "unread": made.unread,
        "findings": findings,
        "applied": [{"id": fix.id, "path": fix.path, "line": fix.line} for fix in applied],
    }


def _show(made: Audit) -> None:
    click.echo(paint(f"{one_line(made.project)}  {one_line(made.root)}", "strong"))
    if not made.files:
        click.echo("no agent keeps a memory of its own here")
    for agent, files in made.readers().items():
        click.echo(f"{agent}: about {made.tokens(agent):,} tokens in every session")
        for file in files:
            when = "" if file.always else ", only when needed"
            by = f", imported by {one_line(file.imported_by)}" if file.imported_by else ""
            say(f"  {one_line(file.name)}: {file.tokens:,} tokens{when}{by}")
    for unread in made.unread:
        say(f"not read: {one_line(unread.name)}: {unread.reason}")
    if not made.findings:
        click.echo("nothing in them is contradictory, stale or repeated, as far as can be checked")
    for finding in made.findings:
        _show_finding(finding)
    if any(finding.fix for finding in made.findings):
        click.echo("`--apply` makes the proposed changes, each after a yes")


def _show_finding(finding: Finding) -> None:
    from session_memory.curate.native_fixes import diff_of

    say(f"{finding.kind} {finding.id}: {one_line(finding.why)}")
    for quote in finding.quotes:
        say(f"  {one_line(quote.file)}:{quote.line}: {one_line(quote.text)[:_SHOWN_CHARS]}")
    if finding.fix is not None:
        for line in diff_of(finding.fix, finding.quotes[-1].file).splitlines():
            click.echo(fit(f"    {one_line(line)}"))


def _apply(app: App, made: Audit, *, yes: bool) -> None:
    """Make the changes one by one; from below, so that lines above keep their numbers."""
    from session_memory.curate.native_fixes import apply_fix

    fixes = [finding for finding in made.findings if finding.fix is not None]
    fixes.sort(key=lambda each: (each.fix.path, -each.fix.line) if each.fix else ("", 0))
    if not yes and fixes and not sys.stdin.isatty():
        raise UsageError("--apply needs a terminal to ask you", hint="or add --yes")
    done: list[str] = []
    for finding in fixes:
        if not app.json:
            _show_finding(finding)
        if not yes and not click.confirm("change it?", err=True):
            continue
        apply_fix(app.paths.data, made.root, finding, app.clock())
        done.append(finding.id)
    if app.json:
        emit_json({"applied": done})
        return
    nothing = "nothing" if fixes else "nothing: no fix is certain enough to be proposed"
    click.echo(f"changed: {', '.join(done) or nothing}")
    if done:
        click.echo(f"`session-memory project memory audit --undo {done[0]}` takes one back")


def _undo(app: App, name: str) -> None:
    from session_memory.curate.native_fixes import undo_fix

    undone = undo_fix(app.paths.data, name, app.clock())
    if app.json:
        emit_json({"undone": undone.id, "path": undone.path, "line": undone.line})
    else:
        click.echo(f"put back line {undone.line} of {one_line(undone.path)}")
