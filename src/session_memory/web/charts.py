"""Plots as SVG, made here: no script draws them, and a table beside each says the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta

from markupsafe import Markup, escape

from session_memory.core.loop.effects import Effect
from session_memory.core.text.safe_text import safe

WEEKS = 26
_CELL = 14
_DAY_MS = 86_400_000


def heat_map(counts: Mapping[date, int], today: date) -> Markup:
    """A square for each day of the last half year, darker where more happened."""
    first = today - timedelta(days=today.weekday() + 7 * (WEEKS - 1))
    most = max(counts.values(), default=0)
    squares: list[str] = []
    for week in range(WEEKS):
        for weekday in range(7):
            day = first + timedelta(days=7 * week + weekday)
            if day > today:
                break
            count = counts.get(day, 0)
            level = 0 if not count else 1 + min(3, 4 * count // (most + 1))
            label = f"{day.isoformat()}: {count} session{'s' * (count != 1)}"
            squares.append(
                f'<rect class="heat{level}" x="{week * _CELL}" y="{weekday * _CELL}" width="12"'
                f' height="12" rx="2"><title>{escape(safe(label))}</title></rect>'
            )
    width, height = WEEKS * _CELL, 7 * _CELL
    return Markup(
        f'<svg class="heat" viewBox="0 0 {width} {height}" role="img"'
        f' aria-label="Sessions a day, last {WEEKS} weeks">{"".join(squares)}</svg>'
    )


def bars(values: Sequence[tuple[str, float]], label: str) -> Markup:
    """A bar for each value, with its name as the tooltip."""
    if not values:
        return Markup("")
    most = max(value for _, value in values) or 1.0
    width = max(2.0, min(24.0, 640 / len(values)))
    drawn = [
        f'<rect class="bar" x="{index * width:.1f}" y="{100 - 96 * value / most:.1f}"'
        f' width="{width - 1:.1f}" height="{max(1.0, 96 * value / most):.1f}">'
        f"<title>{escape(safe(name))}: {value:,.2f}</title></rect>"
        for index, (name, value) in enumerate(values)
    ]
    return Markup(
        f'<svg class="bars" viewBox="0 0 {width * len(values):.0f} 100" preserveAspectRatio="none"'
        f' role="img" aria-label="{escape(safe(label))}">{"".join(drawn)}</svg>'
    )


def day_of(at: int) -> date:
    """The day (UTC) of a moment."""
    return datetime.fromtimestamp(at / 1000, UTC).date()


def forest(effects: Sequence[tuple[str, Effect]]) -> Markup:
    """One line for each effect: its interval, its estimate, and the line where nothing changed."""
    if not effects:
        return Markup("")
    found = [effect.difference for _, effect in effects if effect.difference is not None]
    most = max(0.05, *(max(abs(each.low), abs(each.high)) for each in found))

    def x(value: float) -> float:
        return 320 + 300 * value / most

    rows: list[str] = []
    for row, ((name, effect), interval) in enumerate(zip(effects, found, strict=True)):
        y = 20 + 24 * row
        label = (
            f"{name}: {effect.verdict}, {interval.estimate:+.1%}"
            f" ({interval.low:+.1%} to {interval.high:+.1%})"
        )
        rows.append(
            f'<g class="{escape(effect.verdict)}"><title>{escape(safe(label))}</title>'
            f'<line x1="{x(interval.low):.1f}" x2="{x(interval.high):.1f}" y1="{y}" y2="{y}"/>'
            f'<circle cx="{x(interval.estimate):.1f}" cy="{y}" r="4"/></g>'
        )
    height = 20 + 24 * len(effects)
    return Markup(
        f'<svg class="forest" viewBox="0 0 640 {height}" role="img"'
        f' aria-label="Change of rates with their intervals">'
        f'<line class="zero" x1="320" x2="320" y1="0" y2="{height}"/>{"".join(rows)}</svg>'
    )
