"""What follows from a decision on a rule: which files would change, and changing them on a yes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from session_memory.cli.app import App
from session_memory.cli.options import option
from session_memory.cli.output import fit, one_line, say
from session_memory.cli.rule_text import show_decisions
from session_memory.cli.store import reading
from session_memory.core.loop.catalog import Catalog, Pattern
from session_memory.curate.decisions import CurateContext
from session_memory.curate.review import Decision
from session_memory.distribute.plan import DistributeRequest
from session_memory.distribute.plan_builder import Change
from session_memory.errors import EXIT_OK, EXIT_WARNINGS, SessionMemoryError
from session_memory.store import store_exists
from session_memory.store.damage import absent

distribute_option = option(
    "--distribute", is_flag=True, help="Write it into the files agents read, without asking."
)


def curate_context(app: App) -> CurateContext:
    """What deciding needs, from the command line's context."""
    return CurateContext(
        paths=app.paths,
        config=app.config,
        environ=app.environ,
        clock=app.clock,
        open_store=lambda: reading(app),
        warn=app.warn,
        decided=lambda: renew_guards(app),
    )


def renew_guards(app: App) -> None:
    """Let hooks check what is approved now; a decision stands even if that fails."""
    from session_memory.worker.guard_table import refresh_guards

    if not store_exists(app.paths.data):
        return
    try:
        with reading(app) as store:
            refresh_guards(store, app.paths, app.config, app.clock())
    except (OSError, SessionMemoryError) as error:
        app.warn(f"the table of guards is not renewed: {error}")


def changes_of(app: App, pattern: Pattern) -> tuple[tuple[Change, ...], tuple[str, ...]]:
    """The files a rule would change if it were given now, and why it does not reach others."""
    from session_memory.distribute.files import FileReader
    from session_memory.distribute.ledger import read_ledger
    from session_memory.distribute.plan import make_plan
    from session_memory.worker.lessons import gather, writing_problem

    if not store_exists(app.paths.data):
        return (), ()
    with reading(app) as store:
        request, _ = gather(store, app.paths.data, app.config, pattern)
    plan = make_plan(request, read_ledger(app.paths.data), FileReader(), writing_problem)
    left = [f"{left.where}: {left.why}" for left in plan.left_out if left.pattern == pattern.id]
    meant = [repo.root for repo in request.repos if repo.key in _reach(request, pattern.id)]
    left += [
        f"{refusal.where}: {refusal.why}"
        for refusal in plan.refused
        if any(f"{refusal.where}{os.sep}".startswith(f"{root}{os.sep}") for root in meant)
    ]
    return tuple(c for c in plan.changes if pattern.id in c.patterns), tuple(left)


def _reach(request: DistributeRequest, pattern: str) -> frozenset[str]:
    """The projects that a rule is meant for."""
    from session_memory.distribute.targets import reach

    lesson = next((lesson for lesson in request.lessons if lesson.id == pattern), None)
    return reach(lesson, request.repos, request.default_domain) if lesson else frozenset()


def finish(app: App, decisions: Sequence[Decision], *, dry_run: bool, distribute: bool) -> int:
    """Say what was decided and what follows, and do that on a yes."""
    show_decisions(app, decisions, dry_run)
    ready = [d.pattern for d in decisions if d.pattern.current.distribution_ready]
    if not app.json:
        for decision in decisions:
            explain_gate(decision)
        for pattern in ready:
            _print_files(app, pattern)
    warned = EXIT_WARNINGS if any(decision.warnings for decision in decisions) else EXIT_OK
    if dry_run or not ready or not store_exists(app.paths.data):
        return warned
    if not distribute and not any(changes_of(app, pattern)[0] for pattern in ready):
        return warned
    return max(warned, offer_to_distribute(app, confirmed=distribute))


def offer_to_distribute(app: App, *, confirmed: bool) -> int:
    """Write approved rules into files: because the caller said so, or on a yes at a terminal."""
    from session_memory.cli.distribute import distribute_all

    if not confirmed:
        if app.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
            app.note("next: `session-memory rules distribute` writes it, --dry-run shows the diff")
            return EXIT_OK
        if not click.confirm("Write approved rules into these files now?", err=True):
            app.note("later: `session-memory rules distribute`")
            return EXIT_OK
    code = distribute_all(app)
    app.note("undo: `session-memory rules withdraw --all`")
    return code


def require_rules(app: App, catalog: Catalog) -> None:
    """Say that there is no store, where there are no rules from a file either."""
    if not known_rules(catalog) and not store_exists(app.paths.data):
        raise absent(str(app.paths.data))


def known_rules(catalog: Catalog) -> frozenset[str]:
    """Every rule, decided on or not."""
    return frozenset({*catalog.proposals, *catalog.patterns})


def nothing_awaits(catalog: Catalog, thin: int) -> str:
    """Why there is nothing to decide, and where the rules are; `thin` lack evidence for a yes."""
    if not known_rules(catalog):
        return "Nothing recurs yet that is worth a rule. Your own: `session-memory rules add TEXT`"
    provisional = sum(p.current.status == "provisional" for p in catalog.patterns.values())
    facts = ["No rule awaits your decision"]
    if thin:
        facts.append(f"{thin} with too little evidence for a yes")
    if provisional:
        facts.append(f"{provisional} provisional (not given to agents yet)")
    return f"{'; '.join(facts)}. All rules: `session-memory rules list --all`"


def print_files_left(app: App, decisions: Sequence[Decision]) -> None:
    """Name the files that still hold a rule which is no longer in use, and how to clean them."""
    from session_memory.distribute.ledger import read_ledger

    if app.json:
        return
    entries = read_ledger(app.paths.data).entries
    for pattern in (decision.pattern for decision in decisions):
        files = [entry.place.full_path for entry in entries if pattern.id in entry.patterns]
        if not files or pattern.current.distribution_ready:
            continue
        click.echo("  these files still hold it:")
        click.echo("\n".join(f"    {one_line(file)}" for file in files))
        click.echo(f"  to remove it: session-memory rules withdraw --rule {pattern.id}")


def explain_gate(decision: Decision) -> None:
    """Where a yes is not enough to give a rule to agents: what is missing, and what to do."""
    if decision.pattern.current.status != "provisional" or decision.is_foreign:
        return
    missing = decision.gate.missing("distribute")
    click.echo(
        fit(
            f"  not given to agents yet: {missing}\n"
            "  it comes up again when more sessions show it; to give it now all the same, say it in"
            " your own words: session-memory rules add TEXT (session-memory help gate)"
        )
    )


def _print_files(app: App, pattern: Pattern) -> None:
    changes, left = changes_of(app, pattern)
    for change in changes:
        verb = "create" if change.before is None else "change"
        click.echo(f"  would {verb} {one_line(change.place.full_path)}")
    for why in left:
        say(f"  does not reach {one_line(why)}")
    if not changes and not left and store_exists(app.paths.data):
        click.echo("  every file that should have it has it")
