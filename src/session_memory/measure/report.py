"""Effects for people: a paragraph with a small plot for each, as text or as one HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from session_memory.clock import iso
from session_memory.core.loop.effects import Change, Effect, Figures, Interval
from session_memory.core.text.safe_text import one_line, stripped
from session_memory.measure.effect import LOOKS

BAR = 40
GROUPS = {
    "before": "before",
    "after": "after",
    "control_before": "others before",
    "control_after": "others after",
    "given": "given",
    "held": "held back",
}
_VERDICTS = {
    "improved": "improved",
    "no_effect": "no effect",
    "regressed": "regressed",
    "insufficient_data": "too little data",
}
_METHODS = {"before_after": "before and after", "trial": "randomised trial"}
_UNITS = {"usd": "dollars a session", "minutes": "minutes a session", "success": "success rate"}
NOTHING = "Nothing was given to agents yet, so there is nothing to measure."


def verdict_sentence(effect: Effect) -> str:
    """What the figures say, with how sure they are."""
    wanted = "fewer" if effect.better == "fewer" else "more"
    head = f"{_VERDICTS[effect.verdict]} ({_METHODS[effect.method]}, {wanted} is better)"
    if effect.difference is None:
        return f"{head}: {_lack(effect)}"
    gap, level = effect.difference, f"{effect.level:.1%} interval"
    text = f"{head}: rate changed by {_points(gap.estimate)}"
    text += f" ({level} {_points(gap.low)} to {_points(gap.high)})"
    return f"{text}; {_lack(effect)}" if effect.verdict == "insufficient_data" else text


def _lack(effect: Effect) -> str:
    if effect.needs is None:
        return "too few sessions, and more after it alone may not be enough: try a trial"
    plural = "session" if effect.needs == 1 else "sessions"
    where = "with the rule" if effect.method == "before_after" else "in each half"
    return f"a verdict probably takes {effect.needs} more {plural} {where}"


def _points(value: float) -> str:
    return f"{value * 100:+.1f} points"


def bar(interval: Interval, width: int = BAR) -> str:
    """An interval between 0 and 1 in plain characters: `  |---o-----|   `."""
    positions = [
        round(value * (width - 1)) for value in (interval.low, interval.estimate, interval.high)
    ]
    cells = [" "] * width
    for index in range(positions[0], positions[2] + 1):
        cells[index] = "-"
    cells[positions[0]] = cells[positions[2]] = "|"
    cells[positions[1]] = "o"
    return "".join(cells)


def report(effects: Sequence[Effect], texts: Mapping[str, str]) -> str:
    """Every effect as text; `texts` are the patterns' words."""
    if not effects:
        return NOTHING
    return "\n\n".join("\n".join(_paragraph(effect, texts)) for effect in effects)


def _paragraph(effect: Effect, texts: Mapping[str, str]) -> Iterable[str]:
    words = one_line(texts.get(effect.pattern_id, ""))[:100]
    yield f"{effect.pattern_id} version {effect.version}  {words}".rstrip()
    yield f"  {verdict_sentence(effect)}"
    since = (iso(effect.since) or "-")[:10]
    look = f", look {effect.look} of {LOOKS}" if effect.look else ""
    yield f"  since {since}{look}; rates of recurrence with exact 95% intervals:"
    for name, group in effect.groups.items():
        share = f"{group.recurred}/{group.sessions}"
        if not group.sessions:
            yield f"    {GROUPS[name]:<13}    no session"
            continue
        yield f"    {GROUPS[name]:<13} {group.rate.estimate:>4.0%} {share:>9} [{bar(group.rate)}]"
    for change in effect.changes:
        yield f"    {change_sentence(change)}"
    yield from (f"  note: {text}" for text in effect.caveats)
    if effect.left_out:
        parts = (f"{one_line(reason)} {count}" for reason, count in effect.left_out.items())
        yield f"  sessions left out: {', '.join(parts)}"
    if effect.retires:
        yield f"  retirement is proposed: `session-memory rules retire {effect.pattern_id}`"


def change_sentence(change: Change) -> str:
    """One of the second measures."""
    gap = change.difference
    sizes = f"{change.sessions[0]} and {change.sessions[1]} sessions"
    if change.what == "success":
        shown = f"{_points(gap.estimate)} (95% {_points(gap.low)} to {_points(gap.high)})"
    else:
        shown = f"{gap.estimate:+.2f} (median, 95% {gap.low:+.2f} to {gap.high:+.2f})"
    return f"{_UNITS[change.what]}: {shown}, p {change.p:.3f}, {sizes}"


# --- HTML ---------------------------------------------------------------------------------------

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;"
    "color:#222;background:#fff}section{border-top:1px solid #ccc;padding:1rem 0}"
    "h2{font-size:1rem;margin:0}.improved{color:#176117}.regressed{color:#9d1c1c}"
    "svg{display:block;margin:.5rem 0}small{color:#555}"
)
_ROW, _LEFT, _WIDTH = 22, 130, 420


def html_page(effects: Sequence[Effect], texts: Mapping[str, str]) -> str:
    """One page without scripts or anything to load; every word in it is escaped."""
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    body = "\n".join(_section(effect, texts) for effect in effects) or f"<p>{escape(NOTHING)}</p>"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>Effects of patterns</title><style>{_STYLE}</style></head>\n"
        f"<body><h1>Effects of patterns</h1>\n{body}\n</body></html>\n"
    )


def _section(effect: Effect, texts: Mapping[str, str]) -> str:
    words = escape(stripped(texts.get(effect.pattern_id, "")))
    notes = [change_sentence(change) for change in effect.changes] + list(effect.caveats)
    notes += [f"left out: {reason} {count}" for reason, count in effect.left_out.items()]
    listed = "".join(f"<li>{escape(stripped(note))}</li>" for note in notes)
    return (
        f"<section><h2>{escape(effect.pattern_id)} version {effect.version}</h2><p>{words}</p>"
        f'<p class="{effect.verdict}">{escape(verdict_sentence(effect))}</p>'
        f"{_plot(effect.groups)}<small><ul>{listed}</ul></small></section>"
    )


def _plot(groups: Mapping[str, Figures]) -> str:
    """Rates with their intervals, drawn to scale from 0 to 1."""
    rows: list[str] = []
    for at, (name, group) in enumerate(groups.items()):
        y, rate = _ROW * at + _ROW // 2, group.rate
        low, middle, high = (
            round(_LEFT + value * _WIDTH, 1) for value in (rate.low, rate.estimate, rate.high)
        )
        label = escape(f"{GROUPS[name]} {group.recurred}/{group.sessions}")
        rows.append(
            f'<text x="0" y="{y + 4}" font-size="12">{label}</text>'
            f'<line x1="{low}" x2="{high}" y1="{y}" y2="{y}" stroke="#555" stroke-width="2"/>'
            f'<circle cx="{middle}" cy="{y}" r="4" fill="#1d4f91"/>'
        )
    height, right = _ROW * len(groups) + 4, _LEFT + _WIDTH
    axis = "".join(
        f'<line x1="{x}" x2="{x}" y1="0" y2="{height}" stroke="#ddd"/>' for x in (_LEFT, right)
    )
    size = f'width="{right + 10}" height="{height}" viewBox="0 0 {right + 10} {height}"'
    return f'<svg {size} role="img" aria-label="rates">{axis}{"".join(rows)}</svg>'
