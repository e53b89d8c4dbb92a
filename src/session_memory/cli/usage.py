"""`session-memory usage`: tokens and dollars, each API response counted once."""

from __future__ import annotations

import click

from session_memory.cli.app import App, json_option, pass_app
from session_memory.cli.output import emit_json, table
from session_memory.cli.store import reading
from session_memory.cli.times import Moment, to_ms
from session_memory.core.pricing import load_table
from session_memory.store.port import UsageGroup, UsageRow

_HEADERS = ("responses", "input", "output", "cache read", "cache 5m", "cache 1h", "usd", "unpriced")


@click.command(name="usage")
@click.option("--daily", is_flag=True, help="By day (UTC); the default.")
@click.option(
    "--by",
    type=click.Choice(["day", "project", "model", "flavor", "session"]),
    help="Group by this instead.",
)
@click.option("--since", type=Moment(), help="From this date, time or span (7d) on.")
@click.option("--until", type=Moment(), help="Before this moment.")
@json_option
@pass_app
def command(
    app: App, daily: bool, by: UsageGroup | None, since: str | None, until: str | None
) -> None:
    """Show tokens and cost by day, project or model.

    A response that is repeated in several files or sessions counts once. Prices are list prices of
    the day, by length, cache and mode (fast, batch, flex, priority). `unpriced` counts tokens of
    models or modes without a known price; dollar figures leave them out.

    \b
    Examples:
      session-memory usage --daily --since 7d
      session-memory usage --by project --json
    """
    if daily and by not in (None, "day"):
        raise click.UsageError("--daily and --by do not go together")
    group: UsageGroup = by or "day"
    now = app.clock()
    with reading(app) as store:
        usage = store.usage(group, to_ms(since, now), to_ms(until, now))
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
    rows = [_row(row) for row in usage]
    rows.append(_row(_total(usage)))
    click.echo(table(rows, (group, *_HEADERS)))


def _row(row: UsageRow) -> tuple[object, ...]:
    cost = row.cost
    return (
        row.group if row.session_id is None else f"{row.session_id}  {row.group}",
        row.responses,
        cost.input,
        cost.output,
        cost.cache_read,
        cost.cache_write_5m,
        cost.cache_write_1h,
        "-" if cost.usd is None else f"{cost.usd:.2f}",
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
