"""`session-memory rules`: a person decides which patterns enter the catalog."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any, get_args

import click
import msgspec

from session_memory.cli.app import App, dry_run_option, json_option, pass_app
from session_memory.cli.output import emit_json, human_time, one_line, safe
from session_memory.cli.store import reading
from session_memory.core.loop.catalog import Proposal, Snapshot, Status
from session_memory.curate.decisions import (
    CurateContext,
    decide,
    default_reviewer,
    describe,
    detected_proposals,
    full_id,
    gate_facts,
    list_for_review,
    read_for_review,
    sync_store,
    take_in,
    undo_last,
)
from session_memory.curate.review import Decision, DecisionRequest, find
from session_memory.errors import EXIT_WARNINGS, NotFound, UsageError

INPUT_LIMIT = 64 * 1024 * 1024
STATUSES: tuple[Status, ...] = get_args(Status)

_by = click.option("--by", metavar="NAME", help="Who decides; default: your user name.")
_reason = click.option("--reason", default="", help="Why; recorded with the decision.")


def curate_context(app: App) -> CurateContext:
    """What deciding needs, from the command line's context."""
    return CurateContext(
        paths=app.paths,
        config=app.config,
        environ=app.environ,
        clock=app.clock,
        open_store=lambda: reading(app),
        warn=app.warn,
    )


@click.command(name="list")
@click.option("--all", "everything", is_flag=True, help="Include patterns already decided on.")
@click.option("--status", type=click.Choice(STATUSES), help="Only patterns with this status.")
@json_option
@pass_app
def list_(app: App, everything: bool, status: Status | None) -> None:
    """List patterns that await a decision, with their evidence and what the gate says.

    \b
    Examples:
      session-memory rules list --status approved --json
    """
    catalog = read_for_review(curate_context(app))
    rows = list_for_review(catalog, app.config.curate, status, decided=everything)
    if app.json:
        emit_json({"revision": catalog.revision, "patterns": rows})
        return
    for row in rows:
        click.echo(_pattern_text(row, app.clock()))
    known = {*catalog.proposals, *catalog.patterns}
    app.note(f"{len(rows)} of {len(known)} patterns shown")
    if not known:
        app.note("`session-memory rules propose` adds what `session-memory rules detect` finds")


@click.command()
@click.argument("pattern")
@click.option("--version", "number", type=click.IntRange(1), help="Show this version only.")
@json_option
@pass_app
def show(app: App, pattern: str, number: int | None) -> None:
    """Show one pattern and every decision on it, or one version of it.

    \b
    Examples:
      session-memory rules show fc-12ab
    """
    catalog = read_for_review(curate_context(app))
    name = full_id(catalog, pattern)
    decided = catalog.patterns.get(name)
    versions = decided.versions if decided else ()
    if number is not None:
        versions = versions[number - 1 : number]
        if not versions:
            raise NotFound(f"{name} has no version {number}")
    row = describe(catalog, name, app.config.curate)
    if app.json:
        emit_json({"pattern": row, "versions": versions})
        return
    click.echo(_pattern_text(row, app.clock()))
    for version in versions:
        who = f"{version.action} by {one_line(version.who)}"
        when = human_time(version.at, app.clock())
        click.echo(f"version {version.number}: {version.status}, {who}, {when}")
        if version.why:
            click.echo(f"  because {one_line(version.why)}")
        click.echo(_indented(version.text))


@click.command()
@click.argument("patterns", nargs=-1, required=True)
@_reason
@_by
@dry_run_option
@json_option
@pass_app
def approve(
    app: App, patterns: tuple[str, ...], *, reason: str, by: str | None, dry_run: bool
) -> None:
    """Take patterns into the catalog, as approved or provisional.

    \b
    Examples:
      session-memory rules approve fc-12ab --reason "seen in three repositories"
    """
    who, now = by or default_reviewer(app.environ), app.clock()
    requests = (DecisionRequest("approve", name, who, now, reason) for name in patterns)
    _decide(app, requests, dry_run)


@click.command()
@click.argument("patterns", nargs=-1, required=True)
@click.option("--reason", required=True, help="Why; recorded with the decision.")
@_by
@dry_run_option
@json_option
@pass_app
def reject(
    app: App, patterns: tuple[str, ...], *, reason: str, by: str | None, dry_run: bool
) -> None:
    """Reject patterns; more evidence does not bring them back.

    \b
    Examples:
      session-memory rules reject fc-12ab --reason "a one-off"
    """
    who, now = by or default_reviewer(app.environ), app.clock()
    requests = (DecisionRequest("reject", name, who, now, reason) for name in patterns)
    _decide(app, requests, dry_run)


@click.command()
@click.argument("pattern")
@_reason
@click.option("--superseded-by", metavar="ID", help="The pattern in use that replaces it.")
@_by
@dry_run_option
@json_option
@pass_app
def retire(
    app: App,
    pattern: str,
    *,
    reason: str,
    superseded_by: str | None,
    by: str | None,
    dry_run: bool,
) -> None:
    """Take a pattern out of use.

    \b
    Examples:
      session-memory rules retire fc-12ab --reason "fixed upstream"
    """
    request = DecisionRequest(
        action="retire" if superseded_by is None else "supersede",
        pattern=pattern,
        who=by or default_reviewer(app.environ),
        at=app.clock(),
        why=reason,
        superseded_by=superseded_by,
    )
    _decide(app, [request], dry_run)


@click.command()
@click.argument("pattern")
@click.option("--text", help="The new text.")
@click.option(
    "--file", type=click.File("r", encoding="utf-8"), help="Read the new text here; `-` is stdin."
)
@_reason
@_by
@dry_run_option
@json_option
@pass_app
def edit(
    app: App,
    pattern: str,
    *,
    text: str | None,
    file: Any,
    reason: str,
    by: str | None,
    dry_run: bool,
) -> None:
    """Change the text of a pattern; on a terminal, in your editor.

    \b
    Examples:
      session-memory rules edit fc-12ab --text "Run the tests with PYTHONPATH=src."
    """
    if file is not None:
        text = str(file.read(INPUT_LIMIT))
    if text is None:
        if not sys.stdin.isatty():
            raise UsageError("no new text", hint="give --text, or --file - to read it from stdin")
        catalog = read_for_review(curate_context(app))
        text = click.edit(find(catalog, full_id(catalog, pattern)).text)
        if text is None:
            app.note("nothing was changed")
            return
    who = by or default_reviewer(app.environ)
    _decide(app, [DecisionRequest("edit", pattern, who, app.clock(), reason, text)], dry_run)


@click.command()
@_by
@dry_run_option
@json_option
@pass_app
def undo(app: App, by: str | None, dry_run: bool) -> None:
    """Take back the last decision; the history keeps both.

    \b
    Examples:
      session-memory rules undo
    """
    who = by or default_reviewer(app.environ)
    _print_decisions(app, undo_last(curate_context(app), who, dry_run=dry_run), dry_run)


@click.command()
@click.argument("file", type=click.File("rb"), required=False)
@click.option("--all", "everything", is_flag=True, help="Also what `rules detect` leaves out.")
@dry_run_option
@json_option
@pass_app
def propose(app: App, *, file: Any, everything: bool, dry_run: bool) -> None:
    """Add proposals from `rules detect`, or from FILE (`-` is stdin): a JSON array of proposals.

    Provisional patterns are checked again with the evidence that has come in.

    \b
    Examples:
      session-memory rules propose
      session-memory rules propose patterns.json --dry-run
    """
    context, complete = curate_context(app), file is None
    proposals = (
        detected_proposals(context, everything=everything) if complete else _read_proposals(file)
    )
    app.note(f"{len(proposals)} proposals")
    decisions = take_in(context, proposals, complete=complete, dry_run=dry_run)
    _print_decisions(app, decisions, dry_run)


@click.command()
@click.argument("pattern")
@json_option
@pass_app
def draft(app: App, pattern: str) -> None:
    """Ask the configured model for a better wording, and print it. Nothing is changed.

    \b
    Examples:
      session-memory rules draft fc-12ab
      session-memory rules draft fc-12ab | session-memory rules edit fc-12ab --file -
    """
    from session_memory.curate.draft import draft_text

    entry, text = draft_text(curate_context(app), pattern)
    if app.json:
        emit_json({"pattern": entry.id, "before": entry.text, "draft": text})
        return
    click.echo(text)


@click.command()
@dry_run_option
@json_option
@pass_app
def sync(app: App, dry_run: bool) -> None:
    """Update the store from the catalog's files, which are the truth.

    Run it after files were changed by git or by hand, or when rows were lost. Decisions are taken
    over from the files, figures are counted again, and the index is rewritten. Texts edited by hand
    are listed; they count once approved. A pattern that its file calls approved without enough
    evidence stays provisional, and is listed with the reason.

    \b
    Examples:
      session-memory rules sync --dry-run
      session-memory rules sync
    """
    report = sync_store(curate_context(app), dry_run=dry_run)
    if app.json:
        emit_json(
            {
                "dry_run": dry_run,
                "changed": report.changed,
                "edited_by_hand": report.edited_by_hand,
                "held_back": report.held_back,
            }
        )
        return
    click.echo(f"{report.patterns} patterns in files, {len(report.changed)} decisions taken over")
    for name, reason in report.held_back.items():
        click.echo(f"{name} is approved in its file only; the gate keeps it provisional: {reason}")
    for name in report.edited_by_hand:
        click.echo(f"{name} was edited by hand: `session-memory rules approve {name}` takes it in")


def _read_proposals(file: Any) -> list[Proposal]:
    try:
        return msgspec.json.decode(file.read(INPUT_LIMIT), type=list[Proposal])
    except (ValueError, RecursionError) as error:
        raise UsageError(f"cannot read proposals: {error}") from None


def _decide(app: App, requests: Iterable[DecisionRequest], dry_run: bool) -> None:
    _print_decisions(app, decide(curate_context(app), requests, dry_run=dry_run), dry_run)


def _print_decisions(app: App, decisions: Sequence[Decision], dry_run: bool) -> None:
    if app.json:
        emit_json(
            {"dry_run": dry_run, "decisions": [_decision_row(decision) for decision in decisions]}
        )
    for decision in decisions:
        if not app.json:
            click.echo(_decision_sentence(decision, dry_run))
        for warning in decision.warnings:
            app.warn(warning.message)
    if any(decision.warnings for decision in decisions):
        click.get_current_context().exit(EXIT_WARNINGS)


def _decision_row(decision: Decision) -> dict[str, object]:
    pattern = decision.pattern
    return {
        "id": pattern.id,
        "before": decision.before,
        **msgspec.to_builtins(pattern.current),
        "gate": gate_facts(decision.gate),
        "warnings": decision.warnings,
    }


def _decision_sentence(decision: Decision, dry_run: bool) -> str:
    before, current = decision.before, decision.pattern.current
    change = f"{before} -> {current.status}" if before != current.status else before
    would = "would be " if dry_run else ""
    text = f"{decision.pattern.id}: {would}{change}, version {current.number}"
    if decision.is_foreign:
        return f"{text}; it quotes the output of a tool: edit it into words of your own"
    thin = current.status == "provisional" and not decision.gate.distributes
    return f"{text}; {'; '.join(map(str, decision.gate.shortfalls))}" if thin else text


def _pattern_text(row: dict[str, Any], now: int) -> str:
    """A pattern as `describe` gives it, for people."""
    counts: Snapshot = row["snapshot"]
    flavors = one_line(", ".join(counts.flavors)) or "-"
    seen = f"{counts.frequency} times in {counts.sessions} sessions ({flavors})"
    last = human_time(counts.last_seen, now)
    head = f"{row['id']}  {row['status']}  {row['kind']}"
    lines = [
        f"{head}  {one_line(row['type'])}: {one_line(row['locus'])}",
        _indented(row["text"]),
        f"  seen {seen}, {len(counts.repos)} repositories, ${counts.cost_impact:.2f}, last {last}",
        f"  gate: {row['gate']['says']}",
    ]
    if row["edited_by_hand"]:
        lines.append("  edited by hand: approve it to take the new text")
    if retirement := row["retirement"]:
        lines.append(f"  measured: {one_line(retirement.reason)}")
        lines.append(f"  proposed: review retire {row['id']}; review approve {row['id']} keeps it")
    lines += [f"  warning: {one_line(warning.message)}" for warning in row["warnings"]]
    for item in row["evidence"]:
        session = f"{one_line(item.flavor)}:{one_line(item.session)}"
        lines.append(f"  - {session}  {one_line(item.quote)}")
    return "\n".join(lines) + "\n"


def _indented(text: str) -> str:
    return "\n".join(f"  | {line}" for line in safe(text).splitlines())
