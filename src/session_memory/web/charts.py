"""Plots as SVG, made without scripts; a table next to each shows the same figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta

from markupsafe import Markup

from session_memory.core.loop.effects import Effect
from session_memory.core.text.masks import excerpt
from session_memory.core.text.safe_text import safe

WEEKS = 26
_CELL = 14
_TOP, _LEFT = 16, 30
_WIDTH, _HEIGHT = 540, 190
_PLOT = 140
"""Height of the bars; the rest is for labels."""
_BASE = _PLOT + 16
_WIDEST_BAR = 40.0


def heat_map(counts: Mapping[date, int], today: date) -> Markup:
    """A square for each day of the last half year, darker where more happened."""
    first = today - timedelta(days=today.weekday() + 7 * (WEEKS - 1))
    most = max(counts.values(), default=0)
    drawn = [
        Markup('<text x="0" y="{}">{}</text>').format(_TOP + _CELL * place + 10, name)
        for place, name in ((0, "Mon"), (2, "Wed"), (4, "Fri"))
    ]
    for week in range(WEEKS):
        monday = first + timedelta(days=7 * week)
        if monday.day <= 7:
            drawn.append(
                Markup('<text x="{}" y="10">{}</text>').format(_LEFT + week * _CELL, f"{monday:%b}")
            )
        for weekday in range(7):
            day = monday + timedelta(days=weekday)
            if day <= today:
                drawn.append(_square(day, counts.get(day, 0), most, (week, weekday)))
    return Markup(
        '<svg class="heat" viewBox="0 0 {} {}" role="group" aria-label="{}">{}</svg>'
    ).format(
        _LEFT + WEEKS * _CELL,
        _TOP + 7 * _CELL,
        f"Sessions a day, last {WEEKS} weeks",
        Markup("").join(drawn),
    )


def _square(day: date, count: int, most: int, cell: tuple[int, int]) -> Markup:
    level = 0 if not count else 1 + min(3, 4 * count // (most + 1))
    label = f"{day.isoformat()}: {count} session{'s' * (count != 1)}"
    # Nothing in it is a user's text, and escaping 180 squares is a tenth of Home.
    square = (
        f'<rect class="heat{level}" x="{_LEFT + cell[0] * _CELL}" y="{_TOP + cell[1] * _CELL}"'
        f' width="12" height="12" rx="2" data-tip="{label}"><title>{label}</title></rect>'
    )
    if count:
        square = f'<a href="/sessions?day={day.isoformat()}" aria-label="{label}">{square}</a>'
    return Markup(square)


def bars(values: Sequence[tuple[str, float]], label: str, unit: str = "") -> Markup:
    """A bar for each value."""
    return stacked([(name, (value,)) for name, value in values], ("",), label, unit)


def stacked(
    values: Sequence[tuple[str, Sequence[float]]], parts: Sequence[str], label: str, unit: str = ""
) -> Markup:
    """A bar for each value, made of parts that are the same for all."""
    if not values:
        return Markup("")
    most = max(sum(amounts) for _, amounts in values) or 1.0
    step = min(_WIDEST_BAR, (_WIDTH - 50) / len(values))
    drawn = [_grid(most, unit)]
    for index, (name, amounts) in enumerate(values):
        part_texts = [
            f"{part} {_amount(amount, unit)}".strip()
            for part, amount in zip(parts, amounts, strict=True)
        ]
        tip = f"{name}: {', '.join(part_texts)}"
        under = float(_BASE)
        for part, amount in enumerate(amounts):
            height = _PLOT * amount / most
            under -= height
            drawn.append(
                Markup(
                    '<rect class="part{}" x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"'
                    ' data-tip="{}"><title>{}</title></rect>'
                ).format(
                    part if len(parts) > 1 else 1,
                    50 + index * step,
                    under,
                    max(1.0, step - 2),
                    height,
                    safe(tip),
                    safe(tip),
                )
            )
    ends = {0: "start", len(values) - 1: "end"} if len(values) > 1 else {0: "start"}
    for index, anchor in ends.items():
        x = 50 + index * step + (step if anchor == "end" else 0)
        x = max(x, 200) if anchor == "end" else x
        drawn.append(
            Markup('<text x="{:.1f}" y="{}" text-anchor="{}">{}</text>').format(
                x, _HEIGHT - 10, anchor, excerpt(safe(values[index][0]), 24)
            )
        )
    return _figure("bars", label, drawn, (_WIDTH, _HEIGHT))


def _grid(most: float, unit: str) -> Markup:
    lines = [
        Markup(
            '<line class="grid" x1="50" x2="{}" y1="{}" y2="{}"/><text x="46" y="{}"'
            ' text-anchor="end">{}</text>'
        ).format(_WIDTH, y, y, y + 4, _amount(most * share, unit))
        for share in (0.0, 0.5, 1.0)
        for y in (_BASE - _PLOT * share,)
    ]
    return Markup("").join(lines)


def _amount(value: float, unit: str) -> str:
    """A figure that fits next to a plot."""
    if unit == "$":
        return f"${value:,.2f}" if value < 100 else f"${value:,.0f}"
    for size, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.1f}{name}"
    return f"{value:.0f}" if value == int(value) else f"{value:.1f}"


def trend(points: Sequence[tuple[str, float | None]], label: str, unit: str = "") -> Markup:
    """A line through the known values, oldest first."""
    measured = [
        (index, name, value) for index, (name, value) in enumerate(points) if value is not None
    ]
    if len(measured) < 2:
        return Markup("")
    most = max(value for _, _, value in measured) or 1.0
    step = (_WIDTH - 70) / max(1, len(points) - 1)
    places = [(60 + index * step, _BASE - _PLOT * value / most) for index, _, value in measured]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    dots = [
        Markup(
            '<circle cx="{:.1f}" cy="{:.1f}" r="4" data-tip="{}"><title>{}</title></circle>'
        ).format(x, y, tip, tip)
        for (x, y), (_, name, value) in zip(places, measured, strict=True)
        for tip in (f"{name}: {_amount(value, unit)}",)
    ]
    names = [
        Markup('<text x="{:.1f}" y="{}" text-anchor="{}">{}</text>').format(
            x, _HEIGHT - 10, anchor, name
        )
        for x, anchor, name in ((50, "start", points[0][0]), (_WIDTH, "end", points[-1][0]))
    ]
    drawn = [_grid(most, unit), Markup('<polyline points="{}"/>').format(line), *dots, *names]
    return _figure("trend", label, drawn, (_WIDTH, _HEIGHT))


def forest(effects: Sequence[tuple[str, Effect]]) -> Markup:
    """One line for each effect: its words, its interval, and the line where nothing changed."""
    measured = [(name, effect, gap) for name, effect in effects if (gap := effect.difference)]
    if not measured:
        return Markup("")
    most = max(0.05, *(max(abs(gap.low), abs(gap.high)) for _, _, gap in measured))
    x: Callable[[float], float] = lambda value: 690 + 250 * value / most  # noqa: E731
    height = 46 + 26 * len(measured)
    drawn = [
        Markup('<text x="{:.0f}" y="12" text-anchor="middle">{}</text>').format(x(value), words)
        for value, words in (
            (-most, f"{-most * 100:.0f} points"),
            (0.0, "no change"),
            (most, f"+{most * 100:.0f} points"),
        )
    ]
    drawn.append(Markup('<line class="zero" x1="690" x2="690" y1="18" y2="{}"/>').format(height))
    for row, (name, effect, gap) in enumerate(measured):
        y = 36 + 26 * row
        tip = f"{name}: {effect.verdict}, {gap.estimate:+.1%} ({gap.low:+.1%} to {gap.high:+.1%})"
        drawn.append(
            Markup(
                '<g class="{}" data-tip="{}"><title>{}</title><text x="0" y="{}">{}</text>'
                '<line x1="{:.1f}" x2="{:.1f}" y1="{}" y2="{}"/>'
                '<circle cx="{:.1f}" cy="{}" r="5"/></g>'
            ).format(
                *(effect.verdict, safe(tip), safe(tip), y + 4, excerpt(safe(name), 62)),
                *(x(gap.low), x(gap.high), y, y, x(gap.estimate), y),
            )
        )
    return _figure("forest", "Change of rates with their intervals", drawn, (990, height))


def _figure(kind: str, label: str, drawn: Sequence[Markup], size: tuple[int, int]) -> Markup:
    return Markup('<svg class="{}" viewBox="0 0 {} {}" role="img" aria-label="{}">{}</svg>').format(
        kind, *size, safe(label), Markup("").join(drawn)
    )


def day_of(at: int) -> date:
    """The day (UTC) of a moment."""
    return datetime.fromtimestamp(at / 1000, UTC).date()
