"""`session-memory rules`: a person decides which rules agents are given."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import Any, get_args

import click
import msgspec

from session_memory.cli.app import App, dry_run_option, json_option, long_output, pass_app
from session_memory.cli.editor import edit_text
from session_memory.cli.guard_proposals import guard_proposals
from session_memory.cli.options import option
from session_memory.cli.output import echo_more, emit_json, human_time, one_line
from session_memory.cli.rule_names import by_number, remember_order
from session_memory.cli.rule_text import (
    decision_sentence,
    indented,
    pattern_text,
    print_decisions,
    short_text,
    show_decisions,
)
from session_memory.cli.rules_next import (
    curate_context,
    distribute_option,
    finish,
    known_rules,
    nothing_awaits,
    print_files_left,
    require_rules,
)
from session_memory.core.loop.catalog import Catalog, Pattern, Proposal, Status, match_id
from session_memory.curate.decisions import (
    decide,
    default_reviewer,
    describe,
    detected_proposals,
    full_id,
    lacks_evidence,
    list_for_review,
    propose_detected,
    read_for_review,
    sync_store,
    take_in,
    undo_last,
)
from session_memory.curate.review import (
    MOST_DAYS,
    Decision,
    DecisionRequest,
    find,
    merge_into,
    put_off,
)
from session_memory.errors import EXIT_WARNINGS, NotFound, UsageError

SHOWN = 20
INPUT_LIMIT = 64 * 1024 * 1024
STATUSES: tuple[Status, ...] = get_args(Status)

_by = option("--by", metavar="NAME", help="Who decides; default: your user name.")
_reason = option("--reason", default="", help="Why; recorded with the decision.")


@click.command(name="list")
@option("--all", "everything", is_flag=True, help="Include rules already decided on.")
@option("--status", type=click.Choice(STATUSES), help="Only rules with this status.")
@json_option
@pass_app
@long_output
def list_(app: App, everything: bool, status: Status | None) -> None:
    """List what was found and awaits your decision, the most worthwhile first.

    Looks for what recurs and puts it up for review. The numbers can be given to `rules show`,
    `approve`, `reject` and `edit`; they mean the list that was printed last. -v adds quotes.

    \b
    Examples:
      session-memory rules
      session-memory rules list --status approved --json
    """
    if app.hub_url is not None:
        from session_memory.cli.team_answers import show_hub_rules

        show_hub_rules(app, app.hub_url)
        return
    context = curate_context(app)
    detected = propose_detected(context)
    catalog = read_for_review(context)
    require_rules(app, catalog)
    rows = list_for_review(catalog, app.config.curate, status, decided=everything)
    remember_order(app, [row["id"] for row in rows])
    if app.json:
        emit_json({"revision": catalog.revision, "patterns": rows})
        return
    for decision in detected:
        app.note(decision_sentence(decision, False))
    shown = rows if everything else rows[:SHOWN]
    quotes = app.verbosity > 0
    if shown:
        click.echo("\n\n".join(short_text(n, row, quotes=quotes) for n, row in enumerate(shown, 1)))
    echo_more(len(rows) - len(shown))
    if status is not None or everything:
        summary = f"{len(rows)} of {len(known_rules(catalog))} rules shown"
    else:
        summary = _what_next(rows, catalog)
    app.note(f"\n{summary}" if rows else summary)
    for sentence in guard_proposals(app):
        app.note(sentence)


def _what_next(rows: list[dict[str, Any]], catalog: Catalog) -> str:
    """Below the list: how many there are, and what to type."""
    rule_count, thin = len(known_rules(catalog)), sum(map(lacks_evidence, rows))
    if len(rows) == thin:
        return nothing_awaits(catalog, thin)
    too_thin = f"; {thin} more have too little evidence for a yes" if thin else ""
    return (
        f"{len(rows) - thin} of {rule_count} rules await your decision: "
        "`session-memory rules review`, "
        f"or by number or id `rules show 1`, `rules approve 1`, `rules reject 1`{too_thin}"
    )


@click.command()
@click.argument("rule")
@option("--version", "number", type=click.IntRange(1), help="Show this version only.")
@json_option
@pass_app
@long_output
def show(app: App, rule: str, number: int | None) -> None:
    """Show one rule, its evidence and every decision on it, or one version of it.

    \b
    Examples:
      session-memory rules show 1
      session-memory rules show fc-12ab
    """
    (reference,) = _named(app, rule)
    catalog = read_for_review(curate_context(app))
    name = full_id(catalog, reference)
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
    click.echo(pattern_text(row, app.clock()))
    for version in versions:
        who = f"{version.action} by {one_line(version.who)}"
        when = human_time(version.at, app.clock())
        click.echo(f"version {version.number}: {version.status}, {who}, {when}")
        if version.why:
            click.echo(f"  because {one_line(version.why)}")
        click.echo(indented(version.text))


@click.command()
@click.argument("rules", nargs=-1, required=True)
@_reason
@_by
@distribute_option
@dry_run_option
@json_option
@pass_app
def approve(
    app: App,
    rules: tuple[str, ...],
    *,
    reason: str,
    by: str | None,
    distribute: bool,
    dry_run: bool,
) -> int:
    """Approve rules, by number in the last list or by id.

    With enough evidence a rule becomes approved, and says which files it would go into; with
    less, provisional: kept, and not given to agents (`session-memory help gate`).

    \b
    Examples:
      session-memory rules approve 1
      session-memory rules approve fc-12ab --reason "seen in three repositories"
      session-memory rules approve fc-12ab --distribute
    """
    who, now = by or default_reviewer(app.environ), app.clock()
    names = _named(app, *rules)
    requests = [DecisionRequest("approve", name, who, now, reason) for name in names]
    decisions = decide(curate_context(app), requests, dry_run=dry_run)
    return finish(app, decisions, dry_run=dry_run, distribute=distribute)


@click.command()
@click.argument("rules", nargs=-1, required=True)
@option("--reason", required=True, help="Why; recorded with the decision.")
@_by
@dry_run_option
@json_option
@pass_app
def reject(app: App, rules: tuple[str, ...], *, reason: str, by: str | None, dry_run: bool) -> None:
    """Reject rules; more evidence does not bring them back.

    \b
    Examples:
      session-memory rules reject fc-12ab --reason "a one-off"
    """
    who, now = by or default_reviewer(app.environ), app.clock()
    names = _named(app, *rules)
    requests = [DecisionRequest("reject", name, who, now, reason) for name in names]
    _decide(app, requests, dry_run)


@click.command()
@click.argument("rule")
@_reason
@option("--superseded-by", metavar="ID", help="The rule in use that replaces it.")
@_by
@dry_run_option
@json_option
@pass_app
def retire(
    app: App,
    rule: str,
    *,
    reason: str,
    superseded_by: str | None,
    by: str | None,
    dry_run: bool,
) -> None:
    """Take a rule out of use.

    \b
    Examples:
      session-memory rules retire fc-12ab --reason "fixed upstream"
    """
    request = DecisionRequest(
        action="retire" if superseded_by is None else "supersede",
        pattern=_named(app, rule)[0],
        who=by or default_reviewer(app.environ),
        at=app.clock(),
        why=reason,
        superseded_by=superseded_by,
    )
    _decide(app, [request], dry_run)


@click.command()
@click.argument("rules", nargs=-1, required=True)
@option("--days", type=click.IntRange(1, MOST_DAYS), default=30, show_default=True,
              help="Ask again after so many days.")  # fmt: skip
@_reason
@_by
@dry_run_option
@json_option
@pass_app
def snooze(
    app: App, rules: tuple[str, ...], *, days: int, reason: str, by: str | None, dry_run: bool
) -> None:
    """Put off the decision on rules: they are listed again after some days, or after `rules undo`.

    \b
    Examples:
      session-memory rules snooze 1
      session-memory rules snooze fc-12ab --days 7
    """
    who, now = by or default_reviewer(app.environ), app.clock()
    names = _named(app, *rules)
    _decide(app, [put_off(name, who, now, days, reason) for name in names], dry_run)


@click.command()
@click.argument("rules", nargs=-1, required=True)
@option("--into", metavar="ID", required=True, help="The rule in use that says it too.")
@_reason
@_by
@dry_run_option
@json_option
@pass_app
def merge(
    app: App, rules: tuple[str, ...], *, into: str, reason: str, by: str | None, dry_run: bool
) -> None:
    """Merge rules into one that is in use, which supersedes them.

    \b
    Examples:
      session-memory rules merge 2 --into fc-12ab
    """
    who, now = by or default_reviewer(app.environ), app.clock()
    other, *names = _named(app, into, *rules)
    _decide(app, [merge_into(other, name, who, now, reason) for name in names], dry_run)


@click.command()
@click.argument("rule")
@option("--text", help="The new text.")
@option(
    "--file", type=click.File("r", encoding="utf-8"), help="Read the new text here; `-` is stdin."
)
@_reason
@_by
@dry_run_option
@json_option
@pass_app
def edit(
    app: App,
    rule: str,
    *,
    text: str | None,
    file: Any,
    reason: str,
    by: str | None,
    dry_run: bool,
) -> None:
    """Change the text of a rule; on a terminal, in your editor.

    \b
    Examples:
      session-memory rules edit fc-12ab --text "Run the tests with PYTHONPATH=src."
    """
    (rule,) = _named(app, rule)
    if file is not None:
        text = str(file.read(INPUT_LIMIT))
    if text is None:
        if not sys.stdin.isatty():
            raise UsageError("no new text", hint="give --text, or --file - to read it from stdin")
        catalog = read_for_review(curate_context(app))
        before = find(catalog, full_id(catalog, rule)).text
        text = edit_text(before)
        if text is None or text.strip() == before.strip():
            app.note("nothing was changed")
            return
    who = by or default_reviewer(app.environ)
    _decide(app, [DecisionRequest("edit", rule, who, app.clock(), reason, text)], dry_run)


@click.command()
@_by
@dry_run_option
@json_option
@pass_app
def undo(app: App, by: str | None, dry_run: bool) -> None:
    """Take back the last decision; the history keeps both.

    Files that were written stay as they are; if they still hold the rule, it says so.

    \b
    Examples:
      session-memory rules undo
    """
    who = by or default_reviewer(app.environ)
    decisions = undo_last(curate_context(app), who, dry_run=dry_run)
    if not app.json:
        for decision in decisions:
            click.echo(f"{'would undo' if dry_run else 'undone'}: {_undone(decision.pattern)}")
    show_decisions(app, decisions, dry_run)
    if not app.json:
        for decision in decisions:
            click.echo(indented(decision.pattern.text))
    _end(app, decisions)


@click.command()
@click.argument("file", type=click.File("rb"), required=False)
@option("--all", "everything", is_flag=True, help="Also what `rules detect` leaves out.")
@dry_run_option
@json_option
@pass_app
def propose(app: App, *, file: Any, everything: bool, dry_run: bool) -> None:
    """Add proposals from `rules detect`, or from FILE (`-` is stdin): a JSON array of proposals.

    Provisional rules are checked again with the evidence that has come in.

    \b
    Examples:
      session-memory rules propose
      session-memory rules propose rules.json --dry-run
    """
    context, complete = curate_context(app), file is None
    proposals = (
        detected_proposals(context, everything=everything) if complete else _read_proposals(file)
    )
    app.note(f"{len(proposals)} proposals")
    decisions = take_in(context, proposals, complete=complete, dry_run=dry_run)
    print_decisions(app, decisions, dry_run)


@click.command()
@click.argument("rule")
@json_option
@pass_app
def draft(app: App, rule: str) -> None:
    """Ask the configured model for a better wording, and print it. Nothing is changed.

    \b
    Examples:
      session-memory rules draft fc-12ab
      session-memory rules draft fc-12ab | session-memory rules edit fc-12ab --file -
    """
    from session_memory.curate.draft import draft_text

    entry, text = draft_text(curate_context(app), _named(app, rule)[0])
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
    are listed; they count once approved. A rule that its file calls approved without enough
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
    click.echo(f"{report.patterns} rules in files, {len(report.changed)} taken over from them")
    for name, reason in report.held_back.items():
        click.echo(f"{name} is approved in its file only; the gate keeps it provisional: {reason}")
    for name in report.edited_by_hand:
        click.echo(f"{name} was edited by hand: `session-memory rules approve {name}` takes it in")


def _undone(pattern: Pattern) -> str:
    """The decision that the last version of a rule takes back."""
    return next(v.action for v in pattern.versions if v.revision == pattern.current.undoes)


def _read_proposals(file: Any) -> list[Proposal]:
    try:
        return msgspec.json.decode(file.read(INPUT_LIMIT), type=list[Proposal])
    except (ValueError, RecursionError) as error:
        raise UsageError(f"cannot read proposals: {error}") from None


def _named(app: App, *rules: str) -> list[str]:
    """The rules named by number or id; what `rules detect` just found can be named too."""
    names, context = [by_number(app, rule) for rule in rules], curate_context(app)
    catalog = read_for_review(context)
    rule_ids = {*catalog.patterns, *catalog.proposals}
    if any(match_id(name, rule_ids) is None for name in names):
        propose_detected(context)
    return names


def _decide(app: App, requests: Iterable[DecisionRequest], dry_run: bool) -> None:
    decisions = decide(curate_context(app), requests, dry_run=dry_run)
    show_decisions(app, decisions, dry_run)
    _end(app, decisions)


def _end(app: App, decisions: Sequence[Decision]) -> None:
    """Say where files and decisions now differ; exit 3 if there were warnings."""
    print_files_left(app, decisions)
    if any(decision.warnings for decision in decisions):
        click.get_current_context().exit(EXIT_WARNINGS)
