"""`session-memory fix`: what worked after an error like this one."""

from __future__ import annotations

import click
import msgspec

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import counted, emit_json, fit, one_line
from session_memory.cli.store import reading
from session_memory.clock import iso
from session_memory.core.loop.patterns import Quote
from session_memory.core.text.safe_text import QUOTED
from session_memory.detect.fix import Cure, Fix, fix
from session_memory.detect.report import agents
from session_memory.errors import NotFound, UsageError

_LOOK = "`session-memory search --errors WORDS` looks for a part of it"
_NEVER_MET = "no session had this error"
_NEVER_CURED = "never cured here, as far as the logs show"


@click.command(name="fix", context_settings={"ignore_unknown_options": True})
@click.argument("error", metavar="ERROR", nargs=-1, required=True)
@option("--team", is_flag=True, help="Also what worked for others of your team.")
@json_option
@pass_app
def command(app: App, error: tuple[str, ...], team: bool) -> None:
    """Show what fixed this error before, in how many sessions and with which agents.

    ERROR is the line with the error, or the whole output. The very same error is looked for
    first, then one that differs in names, paths and numbers only. -v names the sessions.
    --team adds what others shared and `team pull` brought, below your own, by how many people.

    \b
    Examples:
      session-memory fix "ModuleNotFoundError: No module named 'yaml'"
      session-memory fix "$(make 2>&1)"
      session-memory fix -- "--- FAIL: TestLogin"
    """
    if not (words := " ".join(error).strip()):
        raise UsageError("the error is empty", hint="paste its line, or the whole output")
    with reading(app) as store:
        answer = fix(store.patterns, words)
    others = _of_others(app, words) if team else None
    if answer is None and others is None:
        whose = "no session had this error, of yours or of the team" if team else _NEVER_MET
        raise NotFound(whose, hint=_LOOK)
    if app.json:
        own = msgspec.to_builtins(answer)
        emit_json({"own": own, "team": msgspec.to_builtins(others)} if team else own)
        return
    for line in _lines(answer, verbose=app.verbosity > 0) if answer else (_NEVER_MET,):
        click.echo(fit(line))
    for line in _team_lines(others) if others else ():
        click.echo(fit(line))


def _of_others(app: App, words: str) -> Fix | None:
    from session_memory.cli.team_answers import check_team
    from session_memory.team.evidence import team_fix

    check_team(app)
    return team_fix(app.paths.data, words)


def _team_lines(answer: Fix) -> list[str]:
    """What helped others; their words, with who shared them."""
    lines = [f"from your team ({QUOTED}): {one_line(answer.problem)}"]
    for cure in answer.cures:
        shown = one_line(cure.command)
        cure_text = shown if cure.kind == "edit" else f"`{shown}`"
        names = ", ".join(dict.fromkeys(one_line(quote.session) for quote in cure.quotes))
        tried = counted(cure.tried, "person", "people")
        lines.append(f"  {cure_text} worked for {cure.worked} of {tried}: {names}")
    if not answer.cures:
        without = "other edits each time" if answer.was_edited else "nobody shared a cure"
        lines.append(f"  {without}; met by {counted(answer.sessions, 'person', 'people')}")
    return lines


def _lines(answer: Fix, *, verbose: bool) -> list[str]:
    same = "this very error" if answer.match == "exact" else "an error of the same shape"
    count = f"{_times(answer.frequency, 'time')} in {_times(answer.sessions, 'session')}"
    last_seen = f", last on {date[:10]}" if (date := iso(answer.last_at)) else ""
    lines = [f"{same}: {one_line(answer.problem)}"]
    for cure in answer.cures:
        lines.append(_sentence(cure))
        lines += [_place(quote) for quote in (cure.quotes if verbose else ())]
    without = "other edits each time" if answer.was_edited else _NEVER_CURED
    return [*lines, f"{'' if answer.cures else without + '; '}met {count}{last_seen}"]


def _sentence(cure: Cure) -> str:
    shown = one_line(cure.command)
    cure_text = shown if cure.kind == "edit" else f"`{shown}`"
    sessions = _times(cure.tried, "session")
    return f"{cure_text} worked in {cure.worked} of {sessions}, in {agents(cure.flavors)}"


def _place(quote: Quote) -> str:
    day, session = (iso(quote.at) or "-")[:10], one_line(quote.session)
    return f"  {day}  {one_line(quote.flavor)}:{session}  {one_line(quote.text)}"


def _times(count: int, word: str) -> str:
    return f"{count} {word}{'s' * (count != 1)}"
