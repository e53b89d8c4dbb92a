"""`session-memory rules explain`: the sessions, quotes and decisions behind an id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import click

from session_memory.cli.app import App, json_option, long_output, pass_app
from session_memory.cli.output import counted, emit_json, fit, human_time, one_line
from session_memory.cli.store import reading
from session_memory.clock import iso
from session_memory.curate.explain import Witness, explain

SHOWN = 10


@click.command(name="explain")
@click.argument("any_id", metavar="ID")
@json_option
@pass_app
@long_output
def command(app: App, any_id: str) -> None:
    """Show where something comes from: a distributed line, rule, note, observation or session.

    For sessions whose raw text was evicted, their signals and digests are shown.

    \b
    Examples:
      session-memory rules explain sm-1a2b3c4d5e6f
      session-memory rules explain 1a2b
    """
    with reading(app) as store:
        explanation = explain(store, app.paths.data, app.config.curate, any_id)
    if app.json:
        emit_json(explanation)
        return
    click.echo(fit("\n".join(explanation_lines(explanation, app.clock()))))


def explanation_lines(explanation: dict[str, Any], now: int) -> Iterator[str]:
    """The explanation as text."""
    what = "rule" if explanation["what"] == "pattern" else explanation["what"]
    facts = [explanation.get(key) for key in ("session_id", "id", "status", "state")]
    yield one_line(" ".join(str(fact) for fact in (what, *facts) if fact))
    for key in ("text", "project", "outcome"):
        if explanation.get(key):
            yield f"  {key}: {one_line(str(explanation[key]))}"
    if written := explanation.get("written"):
        by = f"{one_line(written['flavor'])} in session {one_line(written['session'])}"
        yield f"  {explanation['type']}, written by {by}, {human_time(written['at'], now)}"
    for decision in explanation.get("decisions", ()):
        because = f", because {one_line(decision['why'])}" if decision["why"] else ""
        when, who = human_time(decision["at"], now), one_line(decision["who"])
        evidence = _evidence_of(decision)
        yield (
            f"  version {decision['version']}: {decision['action']} by {who}, {when}:"
            f" {decision['status']}, on {evidence}{because}"
        )
    for file in explanation.get("files", ()):
        yield f"  given in {one_line(file)}"
    for trial in explanation.get("trials", ()):
        yield f"  under trial since {iso(trial.started_at)}" if trial.runs else "  was under trial"
    yield from _evidence_lines(explanation.get("evidence", ()))
    for name in explanation.get("patterns", ()):
        yield f"  shows rule {one_line(name)}"
    for note in explanation.get("observations", ()):
        yield f"  {note['type']} {one_line(note['id'])}: {one_line(note['text'])}"


def _evidence_of(decision: Mapping[str, Any]) -> str:
    """What a decision rested on; a rule of one's own rests on the person alone."""
    if not decision["sessions"]:
        return "their own word"
    times = counted(decision["frequency"], "occurrence")
    return f"{times} in {counted(decision['sessions'], 'session')}"


def _evidence_lines(evidence: list[Witness]) -> Iterator[str]:
    for witness in evidence[:SHOWN]:
        event = "" if witness.event is None else f"#{witness.event}"
        evicted = "" if witness.raw else " (raw text evicted)"
        number = "" if witness.session_id is None else f"{witness.session_id}  "
        where = f"{number}{one_line(witness.flavor)}:{one_line(witness.session)}{event}{evicted}"
        yield f'  - {(iso(witness.at) or "-")[:10]}  {where}  "{one_line(witness.quote)}"'
    if len(evidence) > SHOWN:
        yield f"  and {len(evidence) - SHOWN} more; --json has them all"
