"""`session-memory review`: a person decides which patterns enter the catalog."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, get_args

import click
import msgspec

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json, human_time, one_line
from session_memory.cli.review_draft import draft
from session_memory.cli.review_sync import sync
from session_memory.core.loop.catalog import Catalog, Proposal, Retirement, Status
from session_memory.errors import EXIT_WARNINGS, Ambiguous, NotFound, UsageError

if TYPE_CHECKING:
    from session_memory.curate.review import Ask, Reviewed
    from session_memory.curate.wording import Clean

INPUT_LIMIT = 64 * 1024 * 1024
STATUSES: tuple[Status, ...] = get_args(Status)
Decide = Callable[[Catalog], "Sequence[Reviewed]"]

_by = click.option("--by", metavar="NAME", help="Who decides; the user's name if not given.")
_dry = click.option("--dry-run", is_flag=True, help="Show the outcome, write nothing.")


@click.group(name="review")
def command() -> None:
    """Decide which patterns enter the catalog.

    A yes leads to `approved`, or on thin evidence to `provisional`; agents get what is approved.

    \b
    Examples:
      session-memory review list
      session-memory review approve fc-12ab
    """


@command.command(name="list")
@click.option("--all", "everything", is_flag=True, help="Also what is decided.")
@click.option("--status", type=click.Choice(STATUSES), help="Only patterns of that status.")
@json_option
@pass_app
def list_(app: App, everything: bool, status: Status | None) -> None:
    """What awaits a decision: its evidence, and what the gate makes of it.

    \b
    Examples:
      session-memory review list --status approved --json
    """
    from session_memory.cli.review_output import as_text, described
    from session_memory.curate.bloat import what_is_said
    from session_memory.curate.review import awaits_decision

    catalog, policy = _catalog(app), app.config.curate
    names = [
        name
        for name in sorted({*catalog.proposals, *catalog.patterns})
        if status == catalog.status(name)
        or (status is None and (everything or awaits_decision(catalog, name, policy)))
    ]
    said = what_is_said(catalog)
    rows = [described(catalog, name, policy, said) for name in names]
    if app.json:
        emit_json({"revision": catalog.revision, "patterns": rows})
        return
    for row in rows:
        click.echo(as_text(row, app.clock()))
    app.note(f"{len(rows)} of {len({*catalog.proposals, *catalog.patterns})} patterns shown")


@command.command()
@click.argument("pattern")
@click.option("--version", "number", type=click.IntRange(1), help="As it was in that version.")
@json_option
@pass_app
def show(app: App, pattern: str, number: int | None) -> None:
    """One pattern with every decision on it, or one version of it.

    \b
    Examples:
      session-memory review show fc-12ab
    """
    from session_memory.cli.review_output import as_text, described, indented

    catalog = _catalog(app)
    name = _full_name(catalog, pattern)
    known = catalog.patterns.get(name)
    versions = known.versions if known else ()
    if number is not None:
        versions = versions[number - 1 : number]
        if not versions:
            raise NotFound(f"{name} has no version {number}")
    row = described(catalog, name, app.config.curate)
    if app.json:
        emit_json({"pattern": row, "versions": versions})
        return
    click.echo(as_text(row, app.clock()))
    for item in versions:
        head = f"version {item.number}: {item.status}, {item.action} by {one_line(item.who)}"
        click.echo(f"{head}, {human_time(item.at, app.clock())}")
        if item.why:
            click.echo(f"  because {one_line(item.why)}")
        click.echo(indented(item.text))


@command.command()
@click.argument("patterns", nargs=-1, required=True)
@click.option("--reason", default="", help="Why; kept with the decision.")
@_by
@_dry
@json_option
@pass_app
def approve(app: App, patterns: tuple[str, ...], **options: Any) -> None:
    """Take patterns into the catalog, as approved or provisional.

    \b
    Examples:
      session-memory review approve fc-12ab --reason "seen in three repositories"
    """
    _decide_each(app, "approve", patterns, options)


@command.command()
@click.argument("patterns", nargs=-1, required=True)
@click.option("--reason", required=True, help="Why; kept with the decision.")
@_by
@_dry
@json_option
@pass_app
def reject(app: App, patterns: tuple[str, ...], **options: Any) -> None:
    """Turn patterns down; more evidence does not bring them back.

    \b
    Examples:
      session-memory review reject fc-12ab --reason "a one-off"
    """
    _decide_each(app, "reject", patterns, options)


@command.command()
@click.argument("pattern")
@click.option("--reason", default="", help="Why; kept with the decision.")
@click.option("--superseded-by", metavar="ID", help="The pattern in use that says it better.")
@_by
@_dry
@json_option
@pass_app
def retire(app: App, pattern: str, superseded_by: str | None, **options: Any) -> None:
    """Take a pattern out of use.

    \b
    Examples:
      session-memory review retire fc-12ab --reason "fixed upstream"
    """
    if superseded_by is None:
        _decide_each(app, "retire", (pattern,), options)
    else:
        _decide_each(app, "supersede", (pattern,), {**options, "superseded_by": superseded_by})


@command.command()
@click.argument("pattern")
@click.option("--text", help="The new text.")
@click.option("--file", type=click.File("r", encoding="utf-8"), help="Where it is; `-` is stdin.")
@click.option("--reason", default="", help="Why; kept with the decision.")
@_by
@_dry
@json_option
@pass_app
def edit(app: App, pattern: str, text: str | None, file: Any, **options: Any) -> None:
    """Change the text of a pattern; on a terminal, in your editor.

    \b
    Examples:
      session-memory review edit fc-12ab --text "Run the tests with PYTHONPATH=src."
    """
    if file is not None:
        text = str(file.read(INPUT_LIMIT))
    if text is None:
        from session_memory.curate.review import find

        if not sys.stdin.isatty():
            raise UsageError("no new text", hint="give --text, or --file - to read it from stdin")
        catalog = _catalog(app)
        text = click.edit(find(catalog, _full_name(catalog, pattern)).text)
        if text is None:
            app.note("nothing was changed")
            return
    _decide_each(app, "edit", (pattern,), {**options, "text": text})


@command.command()
@_by
@_dry
@json_option
@pass_app
def undo(app: App, by: str | None, dry_run: bool) -> None:
    """Take back the last decision; the history keeps both.

    \b
    Examples:
      session-memory review undo
    """
    from session_memory.curate.review import undo as take_back

    def decide(catalog: Catalog) -> list[Reviewed]:
        return [take_back(catalog, _who(app, by), app.clock(), app.config.curate)]

    _carry_out(app, decide, dry_run)


@command.command()
@click.argument("file", type=click.File("rb"), required=False)
@_dry
@json_option
@pass_app
def propose(app: App, file: Any, dry_run: bool) -> None:
    """Take in what `detect` found, or FILE (`-` is stdin): a JSON array of proposals.

    Provisional patterns are looked at anew with the evidence that has come in.

    \b
    Examples:
      session-memory review propose patterns.json --dry-run
    """
    from session_memory.curate.catalog import write_proposals
    from session_memory.curate.review import propose as take_in
    from session_memory.curate.review import regate

    found = _detected(app) if file is None else _given(file)
    clean = _clean(app)

    def decide(catalog: Catalog) -> Sequence[Reviewed]:
        # Detection tells all there is: what it no longer finds, somebody may have had forgotten.
        before = Catalog(catalog.patterns) if file is None else catalog
        catalog = take_in(before, found, clean)
        changed = regate(catalog, app.clock(), app.config.curate)
        if not dry_run:
            write_proposals(app.paths.data, catalog.proposals)
        return changed

    app.note(f"{len(found)} proposals")
    _carry_out(app, decide, dry_run)


command.add_command(draft)
command.add_command(sync)


def _given(file: Any) -> list[Proposal]:
    try:
        return msgspec.json.decode(file.read(INPUT_LIMIT), type=list[Proposal])
    except (ValueError, RecursionError) as error:
        raise UsageError(f"these are no proposals: {error}") from None


def _detected(app: App) -> list[Proposal]:
    from session_memory.curate.candidates import proposals_of
    from session_memory.detect.cluster import cluster
    from session_memory.store.sqlite import open_store

    with open_store(str(app.paths.data), app.clock()) as store:
        patterns = store.patterns
        found = cluster(patterns.evidence, patterns.statuses())
        return proposals_of(found, patterns.evidence())


def _decide_each(app: App, action: Any, names: Sequence[str], options: dict[str, Any]) -> None:
    """The same decision on several patterns: all of it or, where one is refused, none."""
    from session_memory.curate.review import Ask, review

    clean, who, reason = _clean(app), _who(app, options["by"]), str(options["reason"])

    def decide(catalog: Catalog) -> list[Reviewed]:
        done: list[Reviewed] = []
        other = options.get("superseded_by")
        other = None if other is None else _full_name(catalog, other)
        for name in dict.fromkeys(_full_name(catalog, name) for name in names):
            ask: Ask = Ask(action, name, who, app.clock(), reason, options.get("text"), other)
            done.append(review(catalog, ask, app.config.curate, clean))
            catalog = catalog.with_pattern(done[-1].pattern)
        return done

    _carry_out(app, decide, bool(options["dry_run"]))


def _carry_out(app: App, decide: Decide, dry_run: bool) -> None:
    """Decide while nobody else does, write what changed, and tell."""
    from session_memory.cli.review_output import sentence, told
    from session_memory.curate.catalog import changing, read_catalog, write_patterns
    from session_memory.curate.review import under_gate

    data = app.paths.data
    with nullcontext(read_catalog(data)) if dry_run else changing(data) as catalog:
        _warn_of_missing(app, catalog)
        done = decide(catalog)
        for item in done:
            catalog = catalog.with_pattern(item.pattern)
        if done and not dry_run:
            catalog = under_gate(catalog, app.config.curate)
            write_patterns(data, catalog, [item.pattern.id for item in done])
            _note_in_store(app, catalog)
    if app.json:
        emit_json({"dry_run": dry_run, "decisions": [told(item) for item in done]})
    for item in done:
        if not app.json:
            click.echo(sentence(item, dry_run))
        for warning in item.warnings:
            app.warn(warning.message)
    if any(item.warnings for item in done):
        click.get_current_context().exit(EXIT_WARNINGS)


def _note_in_store(app: App, catalog: Catalog) -> None:
    """Let the store know where every pattern stands, also after a run that was cut off.

    A pattern whose file is lost keeps what the store knows of it: a rejection outlives the file.
    """
    from session_memory.store.sqlite import open_store

    if not app.paths.store_db.exists():
        return
    with open_store(str(app.paths.data), app.clock()) as store:
        patterns = store.patterns
        noted = patterns.statuses()
        for name in sorted(noted.keys() & catalog.patterns.keys()):
            if noted[name] != (status := catalog.status(name)):
                patterns.decide(name, status, app.clock())


def _catalog(app: App) -> Catalog:
    """What files say, as far as the gate lets it pass, and what measuring proposes."""
    from session_memory.curate.catalog import read_catalog
    from session_memory.curate.review import held_back, under_gate

    files = read_catalog(app.paths.data)
    for name, why in held_back(files, app.config.curate).items():
        app.warn(f"{name} is approved in its file only; the gate keeps it provisional: {why}")
    catalog = under_gate(files, app.config.curate)
    catalog = msgspec.structs.replace(catalog, retirements=_retirements(app))
    _warn_of_missing(app, catalog)
    return catalog


def _retirements(app: App) -> dict[str, Retirement]:
    """Patterns that were measured and did not help."""
    from session_memory.cli.store import reading
    from session_memory.measure.report import verdict_sentence
    from session_memory.measure.stages import latest_effects

    if not app.paths.store_db.exists():
        return {}
    with reading(app) as store:
        effects = latest_effects(store.effects.all())
    return {
        name: Retirement(one.version, one.verdict, verdict_sentence(one))
        for name, one in effects.items()
        if one.retires
    }


def _warn_of_missing(app: App, catalog: Catalog) -> None:
    from session_memory.curate.catalog import missing

    for name in missing(app.paths.data, catalog):
        app.warn(f"the index names {name}, which has no file; the next decision drops it")


def _full_name(catalog: Catalog, given: str) -> str:
    """The id that was meant: as given, or the only one that starts so."""
    names = {*catalog.patterns, *catalog.proposals}
    if given in names:
        return given
    near = sorted(name for name in names if given and name.startswith(given))
    if len(near) > 1:
        raise Ambiguous(f"{given} fits {len(near)} patterns: {', '.join(near[:5])}")
    return near[0] if near else given


def _who(app: App, by: str | None) -> str:
    names = (app.environ.get(name) for name in ("USER", "LOGNAME", "USERNAME"))
    return by or next(filter(None, names), "unknown")


def _clean(app: App) -> Clean:
    """Texts are redacted as a sweep would; the tags are not kept, so any key will do."""
    from session_memory.curate.wording import make_clean
    from session_memory.ingest.redaction import make_redactor

    redactor, warnings = make_redactor(b"review", app.config.redact)
    for text in warnings:
        app.warn(text)
    return make_clean(redactor)
