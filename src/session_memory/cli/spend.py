"""`session-memory store spend`: what calls of models cost, and what the caps leave."""

from __future__ import annotations

import click

from session_memory import settings
from session_memory.cli.app import App, json_option, long_output, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import emit_json, fit, table
from session_memory.cli.store import reading
from session_memory.clock import local_date
from session_memory.core.spend import SpendGroup, SpendRow
from session_memory.model.budget import remaining
from session_memory.model.open import caps_of
from session_memory.store.background import Spend

DAY_MS = 86_400_000
_HEADERS = ("calls", "failed", "unsettled", "input", "output", "usd", "unpriced calls")


@click.command(name="spend")
@option(
    "--days",
    type=click.IntRange(1, 36_500),
    default=30,
    show_default=True,
    help="Days to look back.",
)
@option(
    "--by",
    type=click.Choice(["day", "purpose", "model"]),
    default="day",
    show_default=True,
    help="How to group the calls.",
)
@json_option
@pass_app
@long_output
def command(app: App, days: int, by: SpendGroup) -> None:
    """Show what our own model calls cost, and what is left of the caps.

    Days are in local time. A call that is in progress, or whose process died, is `unsettled` and
    counts at its highest possible cost. Calls of models without a known price count by tokens only.

    \b
    Examples:
      session-memory store spend
      session-memory store spend --days 7 --by purpose
      session-memory store spend --json
    """
    now = app.clock()
    today, since = local_date(now), local_date(now - (days - 1) * DAY_MS)
    caps = caps_of(app.config.model)
    with reading(app) as store:
        totals = store.spend.totals(by, since)
        spent = store.spend.spent("", today)
    rest = remaining(caps, spent)
    if app.json:
        emit_json(
            {
                "by": by,
                "since": since,
                "provider": app.config.model.provider,
                "rows": totals,
                "today": {"tokens": spent.day_tokens, "usd": spent.day_usd},
                "left_today": {"tokens": rest.day_tokens, "usd": rest.day_usd},
                "caps": caps,
            }
        )
        return
    rows = [_row(row) for row in totals]
    click.echo(table(rows, (by, *_HEADERS)) if rows else f"no call of a model since {since}")
    click.echo("")
    today = (
        f"today: {spent.day_tokens:,} of {caps.day_tokens:,} tokens, ${spent.day_usd:.2f} of"
        f" ${caps.day_usd:.2f}; left: {rest.day_tokens:,} tokens, ${rest.day_usd:.2f}"
    )
    run = (
        f"a run may make {caps.run_calls:,} calls within {caps.run_ms // 60_000} minutes,"
        f" for {caps.run_tokens:,} tokens and ${caps.run_usd:.2f}"
    )
    click.echo(fit(f"{today}\n{run}"))
    if app.config.model.provider == "none":
        click.echo("no model is turned on (model.provider is none)")


def status_line(model: settings.Model, ledger: Spend, now_ms: int) -> str | None:
    """One line for `status` on what today cost; None while no model is turned on."""
    if model.provider == "none":
        return None
    spent = ledger.spent("", local_date(now_ms))
    return (
        f"{model.provider}: today {spent.day_tokens} of {model.day_max_tokens} tokens,"
        f" ${spent.day_usd:.2f} of ${model.day_max_usd:.2f}"
    )


def _row(row: SpendRow) -> tuple[object, ...]:
    return (
        row.name or "-",
        row.calls,
        row.failed,
        row.unsettled,
        row.input_tokens,
        row.output_tokens,
        f"{row.usd:.4f}",
        row.unpriced,
    )
