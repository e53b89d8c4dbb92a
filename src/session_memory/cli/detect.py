"""`session-memory rules detect`: what recurs over sessions, ranked."""

from __future__ import annotations

from typing import NamedTuple

import click
import msgspec

from session_memory.cli.app import App, json_option, long_output, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import echo_more, fit, to_json
from session_memory.cli.rule_names import remember_order
from session_memory.cli.times import Moment, to_ms
from session_memory.clock import iso
from session_memory.core.loop.patterns import Candidate
from session_memory.detect.report import left_out, report
from session_memory.detect.run import DetectQuery, detect
from session_memory.errors import UsageError
from session_memory.store import open_store

SHOWN = 20


@click.command(name="detect")
@option(
    "--min-frequency",
    type=click.IntRange(1),
    metavar="N",
    help="Everything that occurred at least N times, even in a single session; 1 shows all.",
)
@option("--limit", type=click.IntRange(1), default=SHOWN, show_default=True)
@option("--all", "everything", is_flag=True, help="All, and what was left out and why.")
@option("--since", type=Moment(), help="Sessions since a date, time or span (7d).")
@option("--repo", metavar="KEY", help="Only sessions of this project.")
@option("--team", is_flag=True, help="What several people of your team ran into; saves nothing.")
@json_option
@pass_app
@long_output
def command(
    app: App,
    *,
    min_frequency: int | None,
    limit: int,
    everything: bool,
    since: str | None,
    repo: str | None,
    team: bool,
) -> None:
    """Show what is worth writing down as a rule, found in at least two sessions.

    What the users said again and again, what made failing calls work, and how work is verified
    here; what several agents show comes first. What recurs without a rule to follow from it is
    counted by reason, and shown with --all or --min-frequency.

    The numbers, like those of `rules`, can be given to `rules show`, `approve` and `reject`.
    [CROSS-FLAVOR] marks what sessions of several agents show. `sure` says what a rule rests on.

    Reads digests only, so sessions whose raw text was evicted count too. A run without filters
    saves its candidates for review; with --since or --repo nothing is saved. JSON is complete,
    whatever --limit says. --team counts people, not sessions, over the projects you share and what
    `team pull` brought; it saves nothing, so no rule comes of it unless you write it (`rules add`).

    \b
    Examples:
      session-memory rules detect --since 30d
      session-memory rules detect --all
      session-memory rules detect --min-frequency 5 --json
    """
    now = app.clock()
    if team:
        if since or repo or min_frequency:
            raise UsageError("--team counts people in shared projects and takes no other filter")
        from session_memory.cli.team_answers import show_team_candidates

        show_team_candidates(app, limit if not everything else None)
        return
    query = DetectQuery(min_frequency, to_ms(since, now), repo)
    with open_store(str(app.paths.data), now) as store:
        candidates = detect(store.patterns, query, now)
    wanted = Shown(limit, everything, min_frequency)
    if not app.json:
        remember_order(app, [candidate.id for candidate in wanted.among(candidates)])
    show(app, candidates, wanted)


class Shown(NamedTuple):
    """How much of what was found is printed."""

    limit: int
    everything: bool
    min_frequency: int | None

    def among(self, candidates: list[Candidate]) -> list[Candidate]:
        """All candidates, or those that lead to a rule."""
        if self.everything or self.min_frequency:
            return candidates
        return [candidate for candidate in candidates if not candidate.left_out]


def show(app: App, candidates: list[Candidate], selection: Shown) -> None:
    """Print candidates, for people or as JSON."""
    shown = selection.among(candidates)
    if app.json:
        click.echo(f"[{','.join(to_json(_row(candidate)) for candidate in shown)}]")
        return
    listed = shown if selection.everything else shown[: selection.limit]
    click.echo(fit(report(listed)))
    echo_more(len(shown) - len(listed))
    if len(shown) < len(candidates):
        click.echo(fit(f"\n{left_out(candidates)}; --all shows them"))
    if selection.min_frequency is None:
        app.note("what occurs in a single session is not counted; --min-frequency 1 shows it")


def _row(candidate: Candidate) -> dict[str, object]:
    plain: dict[str, object] = msgspec.to_builtins(candidate, str_keys=True)
    usd, minutes = plain.pop("usd"), plain.pop("minutes")
    plain["cost_impact"] = {"usd": usd, "minutes": minutes}
    plain["first_seen"], plain["last_seen"] = iso(candidate.first_seen), iso(candidate.last_seen)
    return plain
