"""`session-memory fix`: what worked after an error like this one."""

from __future__ import annotations

import click
import msgspec

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json, fit, one_line
from session_memory.clock import iso
from session_memory.core.loop.patterns import Quote
from session_memory.detect.fix import Cure, Fix, fix
from session_memory.detect.report import agents
from session_memory.errors import NotFound, UsageError
from session_memory.store import open_store

_LOOK = "`session-memory search --errors WORDS` looks for a part of it"
_NEVER_CURED = "never cured here, as far as the logs show"


@click.command(name="fix", context_settings={"ignore_unknown_options": True})
@click.argument("error", metavar="ERROR", nargs=-1, required=True)
@json_option
@pass_app
def command(app: App, error: tuple[str, ...]) -> None:
    """Show what fixed this error before, in how many sessions and with which agents.

    ERROR is the line with the error, or the whole output. The very same error is looked for
    first, then one that differs in names, paths and numbers only. -v names the sessions.

    \b
    Examples:
      session-memory fix "ModuleNotFoundError: No module named 'yaml'"
      session-memory fix "$(make 2>&1)"
      session-memory fix -- "--- FAIL: TestLogin"
    """
    if not (words := " ".join(error).strip()):
        raise UsageError("the error is empty", hint="paste its line, or the whole output")
    with open_store(str(app.paths.data), app.clock()) as store:
        answer = fix(store.patterns, words)
    if answer is None:
        raise NotFound("no session had this error", hint=_LOOK)
    if app.json:
        emit_json(msgspec.to_builtins(answer))
        return
    for line in _lines(answer, verbose=app.verbosity > 0):
        click.echo(fit(line))


def _lines(answer: Fix, *, verbose: bool) -> list[str]:
    same = "this very error" if answer.match == "exact" else "an error of the same shape"
    seen = f"{_times(answer.frequency, 'time')} in {_times(answer.sessions, 'session')}"
    last = f", last on {date[:10]}" if (date := iso(answer.last_at)) else ""
    lines = [f"{same}: {one_line(answer.problem)}"]
    for cure in answer.cures:
        lines.append(_sentence(cure))
        lines += [_place(quote) for quote in (cure.quotes if verbose else ())]
    without = "other edits each time" if answer.was_edited else _NEVER_CURED
    return [*lines, f"{'' if answer.cures else without + '; '}met {seen}{last}"]


def _sentence(cure: Cure) -> str:
    shown = one_line(cure.command)
    said = shown if cure.kind == "edit" else f"`{shown}`"
    sessions = _times(cure.tried, "session")
    return f"{said} worked in {cure.worked} of {sessions}, in {agents(cure.flavors)}"


def _place(quote: Quote) -> str:
    day, session = (iso(quote.at) or "-")[:10], one_line(quote.session)
    return f"  {day}  {one_line(quote.flavor)}:{session}  {one_line(quote.text)}"


def _times(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"
