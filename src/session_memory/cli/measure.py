"""`session-memory rules measure`: whether what was given to agents helped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from session_memory.cli.app import (
    App,
    VerbGroup,
    dry_run_option,
    json_option,
    long_output,
    pass_app,
)
from session_memory.cli.options import option
from session_memory.cli.output import emit_json, fit, human_time, one_line, table
from session_memory.cli.rule_names import by_number
from session_memory.core.loop.catalog import match_id
from session_memory.errors import NotFound, Refused, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from session_memory.core.loop.effects import Effect
    from session_memory.core.loop.trials import Trial

    Change = Callable[[tuple[Trial, ...]], tuple[Trial, ...]]

_html = option(
    "--html", metavar="FILE", type=click.Path(dir_okay=False), help="Also write a page with plots."
)


@click.command(name="measure")
@_html
@option("--team", is_flag=True, help="What the same rules changed for others of your team.")
@dry_run_option
@json_option
@pass_app
@long_output
def command(app: App, html: str | None, team: bool, dry_run: bool) -> None:
    """Compare sessions before and after a rule was given, and the arms of trials.

    Verdicts are improved, no_effect, regressed or insufficient_data; [measure] sets how much data
    they need. A rule that does not help is proposed for retirement in `rules list`, never
    removed. Also how many calls and tokens sessions took to the next edit after a compaction, by
    whether they were told what their log shows.

    --team asks the hub what others measured of the rules that you have too, by people.

    \b
    Examples:
      session-memory rules measure
      session-memory rules measure --html effects.html
      session-memory rules trial start 1a2b3c
    """
    if team:
        from session_memory.cli.team_answers import show_team_effects

        show_team_effects(app)
        return
    from session_memory.cli.store import reading
    from session_memory.core.loop.guards import SPOKE
    from session_memory.curate.catalog import read_catalog
    from session_memory.measure.guard_use import guard_uses, retirement_sentence, use_sentence
    from session_memory.measure.report import html_page
    from session_memory.measure.report import report as as_text
    from session_memory.measure.restarts import lines, measure_restarts
    from session_memory.worker.measurement import measure_all

    data = app.paths.data
    with reading(app) as store:
        effects = measure_all(store, data, app.config.measure, app.clock(), keep=not dry_run)
        after_compaction = measure_restarts(store)
        uses = guard_uses(store.live.given_with(SPOKE))
    texts = {name: pattern.current.text for name, pattern in read_catalog(data).patterns.items()}
    if html and not dry_run:
        try:  # the user's file at the user's place: its mode and folder are theirs
            Path(html).write_text(html_page(effects, texts), encoding="utf-8")
        except OSError as error:
            raise UsageError(f"cannot write {html}: {error.strerror}") from None
        app.note(f"wrote {html}")
    if app.json:
        rows = [effect_row(effect) for effect in effects]
        guards = list(uses.values())
        measured = {"effects": rows, "after_compaction": after_compaction, "guards": guards}
        emit_json({"dry_run": dry_run, **measured})
        return
    click.echo(fit("\n".join((as_text(effects, texts), *lines(after_compaction)))))
    for use in uses.values():
        click.echo(fit(f"{use.rule} {use_sentence(use)}"))
        if use.annoys:
            click.echo(fit(f"  {retirement_sentence(use)}"))


def effect_row(effect: Effect) -> dict[str, object]:
    """An effect as JSON shows it."""
    import msgspec

    return {**msgspec.to_builtins(effect), "retirement_proposed": effect.retires}


@click.group(cls=VerbGroup, name="trial")
def trial() -> None:
    """Give a rule to a random half of the sessions, and compare both halves.

    The next `rules distribute` removes a rule under trial from files; instead, the hook gives
    it to half of the sessions when they start.

    \b
    Examples:
      session-memory rules trial start 1a2b3c
      session-memory rules trial list
      session-memory rules trial stop 1a2b3c
    """


@trial.command()
@click.argument("rule")
@dry_run_option
@json_option
@pass_app
def start(app: App, rule: str, dry_run: bool) -> None:
    """Start a trial of an approved rule, or of `recovery`: what is told after a compaction.

    Exit code 8: the rule is not approved or already under trial, or no session could take part:
    no agent has our hook, or none of the rule's projects is on this machine.

    \b
    Examples:
      session-memory rules trial start fc-12ab
      session-memory rules trial start recovery
    """
    from session_memory.curate.catalog import read_catalog
    from session_memory.curate.review import under_gate
    from session_memory.measure.restarts import SECTION
    from session_memory.measure.trial import start as begin

    if rule == SECTION:  # no rule of the catalog: half of the sessions are told after a compaction
        _change(app, lambda trials: begin(trials, SECTION, 1, app.clock()), dry_run)
        return
    catalog = under_gate(read_catalog(app.paths.data), app.config.curate)
    name = _full_id(by_number(app, rule), {*catalog.patterns, *catalog.proposals})
    pattern = catalog.patterns.get(name)
    if pattern is None or not pattern.current.distribution_ready:
        status, hint = catalog.status(name), f"`session-memory rules approve {name}` first"
        raise Refused(f"{name} is {status}; only approved rules can be tried", hint=hint)
    version = pattern.current.number
    _check_reach(app, name)
    _change(app, lambda trials: begin(trials, name, version, app.clock()), dry_run)
    app.note(
        "run `session-memory rules distribute` to remove it from files; hooks give it from then on"
    )


def _check_reach(app: App, name: str) -> None:
    """Refuse a trial that no session could take part in."""
    from session_memory.cli.store import reading
    from session_memory.cli.wiring import hooked_places
    from session_memory.install.hook_files import SETTINGS, injects
    from session_memory.worker.lessons import trial_roots

    with reading(app) as store:
        roots = trial_roots(store, app.paths.data, app.config, name)
    if not roots:
        raise Refused(
            f"{name} would reach no session: no project it is for is on this machine",
            hint=f"`session-memory rules show {name}` names the projects it was seen in",
        )
    places = hooked_places(app)
    if None not in places and not places & set(roots):
        raise Refused(
            f"{name} would reach no session: no agent has our hook, which gives rules on trial",
            hint="`session-memory init` adds it",
        )
    if not injects(app.paths.state):
        raise Refused(
            f"{name} would reach no session: injection is switched off",
            hint=f'set "inject" to true in {app.paths.state / SETTINGS}',
        )


@trial.command()
@click.argument("rule")
@dry_run_option
@json_option
@pass_app
def stop(app: App, rule: str, dry_run: bool) -> None:
    """Stop a trial; its data stays and is still measured.

    \b
    Examples:
      session-memory rules trial stop fc-12ab
    """
    from session_memory.core.loop.trials import under_trial
    from session_memory.measure.trial import stop as end
    from session_memory.store.trial_files import read_trials

    name = _full_id(rule, under_trial(read_trials(app.paths.data)))
    _change(app, lambda trials: end(trials, name, app.clock()), dry_run)


@trial.command(name="list")
@json_option
@pass_app
@long_output
def list_(app: App) -> None:
    """List all trials, running and stopped.

    \b
    Examples:
      session-memory rules trial list
      session-memory rules trial list --json
    """
    from session_memory.store.trial_files import read_trials

    _show(app, read_trials(app.paths.data), dry_run=False)


def _change(app: App, change: Change, dry_run: bool) -> None:
    from session_memory.store.trial_files import change_trials, read_trials

    data = app.paths.data
    trials = change(read_trials(data)) if dry_run else change_trials(data, change)
    if not dry_run:
        from session_memory.cli.rules_next import renew_guards

        renew_guards(app)
    _show(app, trials, dry_run=dry_run)


def _show(app: App, trials: tuple[Trial, ...], *, dry_run: bool) -> None:
    if app.json:
        emit_json({"dry_run": dry_run, "trials": trials})
        return
    rows = [
        (
            trial.pattern_id,
            trial.version,
            human_time(trial.started_at, app.clock()),
            "runs" if trial.runs else human_time(trial.stopped_at, app.clock()),
        )
        for trial in trials
    ]
    headers = ("rule", "version", "started", "stopped")
    click.echo(table(rows, headers) if rows else "no trials")


def _full_id(reference: str, ids: Collection[str]) -> str:
    name = match_id(reference, ids)
    if name is None:
        hint = "`session-memory rules stages` lists them"
        raise NotFound(f"no such rule: {one_line(reference)}", hint=hint)
    return name
