"""`rules review` and `rules add`: decide at a terminal, one rule after the other; or write one."""

from __future__ import annotations

import sys
from typing import Any

import click

from session_memory.cli.app import App, dry_run_option, json_option, pass_app
from session_memory.cli.editor import edit_text
from session_memory.cli.options import option
from session_memory.cli.output import one_line, say
from session_memory.cli.recall_options import project_key
from session_memory.cli.rule_names import remember_order
from session_memory.cli.rule_text import decision_sentence, pattern_text
from session_memory.cli.rules_next import (
    changes_of,
    curate_context,
    distribute_option,
    explain_gate,
    finish,
    nothing_awaits,
    offer_to_distribute,
    print_files_left,
    require_rules,
)
from session_memory.cli.store import reading
from session_memory.core.loop.catalog import Pattern
from session_memory.core.project.former_keys import key_hint
from session_memory.curate.decisions import (
    CurateContext,
    add_rule,
    decide,
    default_reviewer,
    describe,
    lacks_evidence,
    list_for_review,
    propose_detected,
    read_for_review,
)
from session_memory.curate.review import DecisionRequest, OwnRule
from session_memory.errors import EXIT_OK, Refused

_QUESTION = "approve it? [y]es, [n]o, [e]dit, [s]kip, [?], [q]uit"
_KEYS = """\
y  yes: approve it, if its evidence is enough
n  no: reject it; you are asked why, and more evidence does not bring it back
e  edit its text in your editor, then decide
s  skip: decide later
q  quit; what you decided so far stays"""


@click.command(name="review")
@pass_app
def review(app: App) -> int:
    """Go through the rules that await your decision, one by one, at a terminal.

    Shows each with its quotes, what it cost, how sure it is and the lines it would add to which
    files. At the end it offers to write what you approved. `rules undo` takes a decision back.

    \b
    Examples:
      session-memory rules review
    """
    context = curate_context(app)
    propose_detected(context)
    catalog = read_for_review(context)
    require_rules(app, catalog)
    rows = list_for_review(catalog, app.config.curate)
    remember_order(app, [row["id"] for row in rows])
    names = [row["id"] for row in rows if not lacks_evidence(row)]
    thin = len(rows) - len(names)
    if not names:
        click.echo(nothing_awaits(catalog, thin))
        return EXIT_OK
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        hint = "`session-memory rules` lists them; then `rules approve ID`, `rules reject ID`"
        raise Refused(f"{len(names)} rules await a decision, and there is no terminal", hint=hint)
    writes = False
    for number, name in enumerate(names, 1):
        click.echo(f"Rule {number} of {len(names)}")
        answer, approved = _ask_about(app, context, name)
        writes = writes or (approved is not None and bool(changes_of(app, approved)[0]))
        if answer == "q":
            break
        click.echo()
    else:
        if thin:
            app.note(f"{thin} more have too little evidence for a yes; `rules` lists them too")
    return offer_to_distribute(app, confirmed=False) if writes else EXIT_OK


def _ask_about(app: App, context: CurateContext, name: str) -> tuple[str, Pattern | None]:
    """The last answer on a rule, and the rule if agents may now be given it."""
    who = default_reviewer(app.environ)
    while True:
        _show(app, context, name)
        answer, why = _answer()
        if answer in ("s", "q"):
            return answer, None
        if answer == "e":
            before = str(_row(context, name)["text"])
            text = edit_text(before)
            if text is not None and text.strip() != before.strip():
                request = DecisionRequest("edit", name, who, app.clock(), text=text)
                click.echo(decision_sentence(decide(context, [request])[0], False))
            continue
        action = "approve" if answer == "y" else "reject"
        try:
            (done,) = decide(context, [DecisionRequest(action, name, who, app.clock(), why)])
        except Refused as refused:
            click.echo(f"{refused.message}\n{refused.hint or ''}".rstrip())
            return "s", None
        click.echo(decision_sentence(done, False))
        explain_gate(done)
        print_files_left(app, [done])
        return answer, done.pattern if done.pattern.current.distribution_ready else None


def _answer() -> tuple[str, str]:
    """The key that was typed, and the reason for a no."""
    while True:
        answer: str = click.prompt(
            _QUESTION, type=click.Choice(list("ynes?q")), show_choices=False, err=True
        )
        if answer == "?":
            click.echo(_KEYS)
        elif answer != "n":
            return answer, ""
        elif why := _reason_for_no():
            return answer, why


def _reason_for_no() -> str:
    """Why a rule is rejected; empty if it is not to be rejected after all."""
    while True:
        why: str = click.prompt("why not (q: do not reject)", default="no use", err=True)
        if why.strip() != "?":
            return "" if why.strip() == "q" else why
        click.echo("Your reason is kept with the rule. Enter takes `no use`; q goes back.")


def _row(context: CurateContext, name: str) -> dict[str, Any]:
    return describe(read_for_review(context), name, context.config.curate)


def _show(app: App, context: CurateContext, name: str) -> None:
    """A rule, and what a yes would do."""
    from session_memory.cli.distribute import diffs_for_people

    row = _row(context, name)
    click.echo(pattern_text(row, app.clock(), every_quote=app.verbosity > 0))
    request = DecisionRequest("approve", name, default_reviewer(app.environ), app.clock())
    (would,) = decide(context, [request], dry_run=True)
    if not would.pattern.current.distribution_ready:
        if would.gate.distributes:
            click.echo(
                "A yes keeps it; it quotes the output of a tool: edit it before agents get it."
            )
        return
    changes, left = changes_of(app, would.pattern)
    head = "A yes would make this change:" if changes else "A yes would change no file now:"
    click.echo("\n".join((head, *diffs_for_people(changes))))
    for why in left:
        say(f"does not reach {one_line(why)}")


@click.command(name="add")
@click.argument("text")
@option(
    "--project",
    "projects",
    metavar="KEY",
    multiple=True,
    help="For this project, not that of the working directory; repeatable.",
)
@option("--reason", default="", help="Why; recorded with the rule.")
@option("--by", metavar="NAME", help="Who says so; default: your user name.")
@distribute_option
@dry_run_option
@json_option
@pass_app
def add(
    app: App,
    text: str,
    *,
    projects: tuple[str, ...],
    reason: str,
    by: str | None,
    distribute: bool,
    dry_run: bool,
) -> int:
    """Add a rule of your own. It is approved at once: you are its evidence.

    \b
    Examples:
      session-memory rules add "Run the tests with PYTHONPATH=src."
      session-memory rules add "Never push." --project shop --distribute
    """
    with reading(app) as store:
        keys = [project_key(store, name) for name in projects or (None,)]
        known = store.projects()
    project_keys = {project.key for project in known}
    if unknown := [key for key in keys if key not in project_keys]:
        hint = key_hint(known, unknown[0], "`session-memory project list` names them")
        raise Refused(f"no project {unknown[0]}", hint=hint)
    who = by or default_reviewer(app.environ)
    rule = OwnRule(text, tuple(keys), who, app.clock(), reason)
    decisions = add_rule(curate_context(app), rule, dry_run=dry_run)
    return finish(app, decisions, dry_run=dry_run, distribute=distribute)
