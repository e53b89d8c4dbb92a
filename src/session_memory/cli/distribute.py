"""`session-memory rules distribute`: give approved rules to agents through files they read."""

from __future__ import annotations

import difflib
import os
import re
from typing import TYPE_CHECKING

import click
import msgspec

from session_memory.cli.app import App, json_option, long_output, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import Meaning, columns, emit_json, hanging, one_line, safe, table
from session_memory.core.loop.catalog import match_id
from session_memory.errors import EXIT_OK, EXIT_WARNINGS, NotFound, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from session_memory.distribute.ledger import Ledger
    from session_memory.distribute.plan import DistributeRequest
    from session_memory.distribute.plan_builder import Change, Plan, Refusal

    Planner = Callable[[Ledger], Plan]

_DIFF: dict[str, Meaning] = {"+": "ok", "-": "error", "@": "dim"}
_SEAL = re.compile(r"^(<!-- session-memory:begin v\d+) .*(?=-->$)")
"""What identifies the writer in a marker: it is not known before the first write, so not shown."""
_repo = option("--repo", metavar="PATH", help="Only this repository.")
_dry_run = option("--dry-run", is_flag=True, help="Show the changes as diffs; write nothing.")
_force = option(
    "--force", is_flag=True, help="Overwrite a block that was edited; we keep a copy of the edit."
)


@click.command(name="distribute")
@_repo
@_dry_run
@_force
@json_option
@pass_app
def command(app: App, repo: str | None, dry_run: bool, force: bool) -> int:
    """Write approved rules into files that agents read, in the repositories they are for.

    Only lines between our two markers change; `rules withdraw --all` removes them again.
    Patterns that are under trial, or excluded by [distribute], are left out and listed.

    \b
    Examples:
      session-memory rules distribute --dry-run
      session-memory rules distribute --repo ~/code/shop
      session-memory rules files
      session-memory rules withdraw --all
    """
    from session_memory.distribute.files import FileReader
    from session_memory.distribute.plan import make_plan
    from session_memory.worker.lessons import writing_problem

    request = _request(app)
    only = None
    if repo is not None:
        only = _root(repo, [ledger.root for ledger in request.repos])
        if only is None:
            hint = "`session-memory sessions` names the projects that sessions were seen in"
            raise NotFound(f"no repository known at {repo}", hint=hint)
    request = msgspec.structs.replace(request, only=only, force=force)
    code = _carry_out(
        app, lambda ledger: make_plan(request, ledger, FileReader(), writing_problem), dry_run
    )
    _print_provisional(app)
    return code


def distribute_all(app: App) -> int:
    """Write every approved rule, as `rules distribute` without options does."""
    from session_memory.distribute.files import FileReader
    from session_memory.distribute.plan import make_plan
    from session_memory.worker.lessons import writing_problem

    request = _request(app)
    return _carry_out(
        app, lambda ledger: make_plan(request, ledger, FileReader(), writing_problem), dry_run=False
    )


@click.command(name="withdraw")
@_repo
@option("--rule", "rules", metavar="ID", multiple=True, help="Only this rule; repeatable.")
@option("--all", "everything", is_flag=True, help="Everything in every repository.")
@_dry_run
@_force
@json_option
@pass_app
def undo(
    app: App,
    *,
    repo: str | None,
    rules: tuple[str, ...],
    everything: bool,
    dry_run: bool,
    force: bool,
) -> int:
    """Remove what was distributed: from a repository, of a rule, or everything.

    Files get back the bytes they had; what you wrote outside our block since then stays.

    \b
    Examples:
      session-memory rules withdraw --repo . --dry-run
      session-memory rules withdraw --rule sm-1a2b3c4d5e6f
      session-memory rules withdraw --all
    """
    from session_memory.distribute.files import FileReader
    from session_memory.distribute.ledger import read_ledger
    from session_memory.distribute.undo import UndoRequest, plan_undo
    from session_memory.worker.lessons import writing_problem

    if everything == bool(repo or rules):
        hint = (
            "`session-memory rules withdraw --all` removes every rule from every file, "
            "`--rule ID` one rule; `session-memory rules files` lists the files"
        )
        raise UsageError("say what to remove: --repo, --rule, or --all alone", hint=hint)
    ledger = read_ledger(app.paths.data)
    root = None
    if repo is not None:
        root = _root(repo, [entry.place.root for entry in ledger.entries])
        if root is None:
            hint = "`session-memory rules files` lists the files that hold something"
            raise NotFound(f"nothing is distributed in {repo}", hint=hint)
    names = frozenset(_full_id(ledger, name) for name in rules)
    request = UndoRequest(root, names, force)
    code = _carry_out(
        app, lambda entries: plan_undo(entries, FileReader(), writing_problem, request), dry_run
    )
    if names and not dry_run:
        app.note(
            "while it is approved it is written again; `session-memory rules retire` ends that"
        )
    return code


@click.command(name="files")
@json_option
@pass_app
@long_output
def status(app: App) -> None:
    """List every file that holds something of ours, and whether it is unchanged.

    \b
    Examples:
      session-memory rules files
      session-memory rules files --json
    """
    from session_memory.distribute.files import FileReader
    from session_memory.distribute.ledger import read_ledger
    from session_memory.distribute.state import states
    from session_memory.worker.lessons import writing_problem

    ledger = read_ledger(app.paths.data)
    files = states(ledger, FileReader(), writing_problem)
    if app.json:
        emit_json({"files": files})
        return
    rows = [(file.state, f"{file.root}/{file.path}", len(file.patterns)) for file in files]
    click.echo(table(rows, ("state", "file", "rules")) if rows else "nothing is distributed")


def _request(app: App) -> DistributeRequest:
    from session_memory.cli.store import reading
    from session_memory.worker.lessons import gather

    with reading(app) as store:
        request, warnings = gather(store, app.paths.data, app.config)
    for text in warnings:
        app.warn(text)
    return request


def _print_provisional(app: App) -> None:
    """How many rules the gate keeps from agents, and what each of them lacks."""
    from session_memory.curate.catalog import read_catalog
    from session_memory.curate.review import grounds

    catalog = read_catalog(app.paths.data)
    names = [n for n, p in sorted(catalog.patterns.items()) if p.current.status == "provisional"]
    if app.json or not names:
        return
    for name in names:
        missing = grounds(catalog, name, app.config.curate).gate.missing("distribute")
        why = missing or f"look again: `session-memory rules show {name}`"
        click.echo(f"not written: {name} is provisional: {why}")
    rules = "1 rule is" if len(names) == 1 else f"{len(names)} rules are"
    app.note(f"{rules} not given to agents yet (session-memory help gate)")


def _root(path: str, roots: list[str]) -> str | None:
    """The root of the known repository that a path is in."""
    real = os.path.realpath(os.path.expanduser(path))
    fitting = [
        root
        for root in set(roots)
        if os.path.realpath(root) == real or real.startswith(os.path.realpath(root) + os.sep)
    ]
    return max(fitting, key=len, default=None)


def _full_id(ledger: Ledger, reference: str) -> str:
    distributed = {pattern for entry in ledger.entries for pattern in entry.patterns}
    name = match_id(reference, distributed)
    if name is None:
        raise NotFound(f"no distributed rule {reference}")
    return name


def _carry_out(app: App, make: Planner, dry_run: bool) -> int:
    from session_memory.curate.catalog import read_catalog
    from session_memory.distribute.apply import distribute
    from session_memory.distribute.ledger import read_ledger

    data = app.paths.data

    def versions() -> dict[str, int]:
        return {name: p.current.number for name, p in read_catalog(data).patterns.items()}

    if dry_run:
        plan = make(read_ledger(data))
        refused, changes = plan.refused, plan.changes
    else:
        plan, result = distribute(data, make, versions, app.clock)
        refused, changes = (*plan.refused, *result.refused), result.changed
    _show(app, plan, changes, refused, dry_run)
    return EXIT_WARNINGS if refused else EXIT_OK


def _show(
    app: App,
    plan: Plan,
    changes: tuple[Change, ...],
    refused: tuple[Refusal, ...],
    dry_run: bool,
) -> None:
    if app.json:
        emit_json(
            {
                "dry_run": dry_run,
                "changes": [_row(change, dry_run) for change in changes],
                "unchanged": [change.place.full_path for change in plan.unchanged],
                "left_out": plan.left_out,
                "refused": refused,
                "left_alone": plan.left_alone,
            }
        )
        return
    for change in changes:
        click.echo(diff(change) if dry_run else _sentence(change))
    for left in plan.left_out:
        click.echo(f"left out: {one_line(left.pattern)} of {one_line(left.where)}: {left.why}")
    for other in plan.left_alone:
        click.echo(f"{one_line(other.where)}: {other.why}")
    for refusal in refused:
        app.warn(f"{one_line(refusal.where)}: {refusal.why}")
    verb = "would change" if dry_run else "changed"
    files = "1 file" if len(changes) == 1 else f"{len(changes)} files"
    app.note(f"{files} {verb}, {len(plan.unchanged)} are up to date")


def _sentence(change: Change) -> str:
    did = "removed" if change.after is None else "created" if change.before is None else "changed"
    return f"{did} {one_line(change.place.full_path)}: {change.why}"


def _row(change: Change, dry_run: bool) -> dict[str, object]:
    row: dict[str, object] = {
        "file": change.place.full_path,
        "kind": change.kind,
        "patterns": change.patterns,
        "why": change.why,
    }
    return {**row, "diff": diff(change)} if dry_run else row


def diff(change: Change) -> str:
    """A change as a unified diff, safe to print on a terminal."""
    name = change.place.full_path
    before = one_line(name) if change.before is not None else "/dev/null"
    after = one_line(name) if change.after is not None else "/dev/null"
    old, new = _shown(change.before), _shown(change.after)
    plain = [_SEAL.sub(r"\1 ", line) for line in old], [_SEAL.sub(r"\1 ", line) for line in new]
    if plain[0] != plain[1]:
        old, new = plain
    lines = difflib.unified_diff(old, new, before, after, lineterm="")
    return "\n".join(safe(line) for line in lines)


def diffs_for_people(changes: Sequence[Change]) -> Iterator[str]:
    """Diffs in colour, folded; a change that several files get alike is shown once."""
    before: list[str] = []
    for change in changes:
        old, new, *body = diff(change).split("\n")
        if body == before:
            yield f"the same in {one_line(change.place.full_path)}"
            continue
        yield from (old, new)
        before = body
        for line in body:
            yield from hanging(line[:1], line[1:], columns(), _DIFF.get(line[:1]))


def _shown(data: bytes | None) -> list[str]:
    lines = (data or b"").decode("utf-8", "replace").split("\n")
    whole = [line.removesuffix("\r") for line in lines]
    return whole[:-1] if whole[-1] == "" else [*whole[:-1], f"{whole[-1]}\\ no newline at the end"]
