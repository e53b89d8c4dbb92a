"""`session-memory usage`: tokens and dollars, each API response counted once."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import click

from session_memory.cli.app import App, json_option, long_output, pass_app
from session_memory.cli.options import option
from session_memory.cli.output import (
    Column,
    Meaning,
    columns,
    echo_more,
    emit_json,
    fit,
    hanging,
    table,
)
from session_memory.cli.store import reading
from session_memory.cli.terminal import sparkline
from session_memory.cli.times import Moment, to_ms
from session_memory.core.pricing import load_table
from session_memory.store.port import UsageRow

if TYPE_CHECKING:
    from session_memory.store.port import UsageGroup


def _unpriced_meaning(text: str) -> Meaning:
    return "dim" if text == "0" else "warn"


_COLUMNS = (
    Column("usd"),
    Column("responses", drop=4),
    Column("input", drop=6),
    Column("output", drop=7),
    Column("cache read", drop=5),
    Column("cache 5m", drop=2),
    Column("cache 1h", drop=1),
    Column("unpriced", drop=3, meaning=_unpriced_meaning),
)
LINES_SHOWN = 30


@click.command(name="usage")
@option("--daily", is_flag=True, help="By day (UTC); the default.")
@option(
    "--by",
    type=click.Choice(["day", "project", "model", "agent", "session"]),
    help="Group by this instead.",
)
@option("--since", type=Moment(), help="From this date, time or span (7d) on.")
@option("--until", type=Moment(), help="Before this moment.")
@option(
    "--all",
    "everything",
    is_flag=True,
    help=f"All of them, not only the {LINES_SHOWN} latest or most expensive.",
)
@json_option
@pass_app
@long_output
def command(
    app: App,
    *,
    daily: bool,
    by: str | None,
    since: str | None,
    until: str | None,
    everything: bool,
) -> None:
    """Show tokens and cost by day, project or model.

    A response that is repeated in several files or sessions counts once. Prices are list prices of
    the day, by length, cache and mode (fast, batch, flex, priority). `unpriced` counts tokens of
    models or modes without a known price; dollar figures leave them out. -v names the price table.

    \b
    Examples:
      session-memory usage --daily --since 7d
      session-memory usage --by project --json
    """
    if daily and by not in (None, "day"):
        raise click.UsageError("--daily and --by do not go together")
    group = by or "day"
    now = app.clock()
    with reading(app) as store:
        stored = cast("UsageGroup", "flavor" if group == "agent" else group)
        usage = store.usage(stored, to_ms(since, now), to_ms(until, now))
    if app.json:
        prices = load_table()
        emit_json(
            {
                "by": group,
                "price_table": prices.version,
                "price_source": prices.source,
                "rows": usage,
            }
        )
        return
    if not usage:
        click.echo("no tokens were used" + (" in that time" if since or until else ""))
        return
    hidden = 0 if everything else max(len(usage) - LINES_SHOWN, 0)
    if group != "day":
        usage = sorted(usage, key=lambda row: -(row.cost.usd or 0))
    shown = usage[hidden:] if group == "day" else usage[: len(usage) - hidden]
    rows = [_row(row) for row in (*shown, _total(usage))]
    click.echo(table(rows, (Column(group, folds=True), *_COLUMNS)))
    echo_more(hidden)
    if app.verbosity:
        prices = load_table()
        click.echo(fit(f"prices of {prices.version}, from {prices.source}"))
    days = usage[-((columns() or 0) // 2) :] if group == "day" else []
    if bars := sparkline([row.cost.usd or 0 for row in days], app.environ):
        caption = f"usd a day, {days[0].group} to {days[-1].group}"
        click.echo("\n".join(hanging(f"{bars}  ", caption, columns(), "dim")))


def _row(row: UsageRow) -> tuple[object, ...]:
    cost = row.cost
    return (
        row.group if row.session_id is None else f"{row.session_id}  {row.group}",
        "-" if cost.usd is None else f"{cost.usd:,.2f}",
        row.responses,
        cost.input,
        cost.output,
        cost.cache_read,
        cost.cache_write_5m,
        cost.cache_write_1h,
        row.unpriced_tokens,
    )


def _total(usage: list[UsageRow]) -> UsageRow:
    from session_memory.core.schema import Cost

    priced = [row.cost.usd for row in usage if row.cost.usd is not None]
    return UsageRow(
        group="total",
        responses=sum(row.responses for row in usage),
        cost=Cost(
            input=sum(row.cost.input for row in usage),
            output=sum(row.cost.output for row in usage),
            cache_read=sum(row.cost.cache_read for row in usage),
            cache_write_5m=sum(row.cost.cache_write_5m for row in usage),
            cache_write_1h=sum(row.cost.cache_write_1h for row in usage),
            usd=sum(priced) if priced else None,
        ),
        unpriced_tokens=sum(row.unpriced_tokens for row in usage),
    )
