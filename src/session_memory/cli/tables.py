"""Tables that fit the terminal: columns are dropped by importance, and one is folded, never cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from session_memory.cli.terminal import Meaning, columns, fold, paint, width
from session_memory.core.text.safe_text import one_line
from session_memory.regex_cache import compiled

GAP = "  "
NARROWEST = 30
"""The least width of a folded column; with less room it goes below its row."""
_NUMBER = compiled(r"-|-?[\d,.]+( ([KMGTP]i)?B)?")


class Column(msgspec.Struct, frozen=True):
    """How one column is shown."""

    name: str
    drop: int = 0
    """Where the terminal is narrow 1 is left out first, then 2 and so on; 0 always stays."""
    folds: bool = False
    """Takes the room that is left and continues on further lines."""
    meaning: Meaning | Callable[[str], Meaning | None] | None = None


def table(rows: Sequence[Sequence[object]], headers: Sequence[str | Column]) -> str:
    """Rows as aligned text; numbers to the right. Fits the terminal's width if there is one."""
    specs = [header if isinstance(header, Column) else Column(header) for header in headers]
    cells = [[_cell(value) for value in row] for row in rows]
    right = [_is_number([row[number] for row in cells]) for number in range(len(specs))]
    names = [spec.name for spec in specs]
    widths = [max(width(line[n]) for line in (names, *cells)) for n in range(len(specs))]
    limit = columns()
    shown = list(range(len(specs)))
    folded, natural = None, 0
    if limit is not None and _total(widths, shown) > limit:
        folded = _folded(specs, widths, right)
        empty = {n for n in shown if all(row[n] in ("-", "") for row in cells)}
        shown = _shown_columns(specs, widths, empty, folded, limit)
        natural = widths[folded]
        widths[folded] = min(
            natural, limit - _total(widths, [n for n in shown if n != folded]) - len(GAP)
        )
    below = folded is not None and widths[folded] < min(natural, NARROWEST)
    layout = _Layout(specs, widths, right, shown, folded, limit if below else None)
    lines = layout.lines(names, heading=True)
    for row in cells:
        lines += layout.lines(row)
    return "\n".join(lines)


class _Layout(msgspec.Struct, frozen=True):
    specs: Sequence[Column]
    widths: Sequence[int]
    right: Sequence[bool]
    shown: Sequence[int]
    folded: int | None
    below: int | None
    """The width for the folded column on lines of its own, where it has no room in the row."""

    def lines(self, row: Sequence[str], *, heading: bool = False) -> list[str]:
        """One row; more lines where a column is folded, or stands below the others."""
        if self.folded is None or self.below is None:
            parts = {n: [row[n]] for n in self.shown}
            if self.folded is not None:
                parts[self.folded] = fold(row[self.folded], self.widths[self.folded])
            height = max(map(len, parts.values()))
            return [
                self._line({n: p[i] if i < len(p) else "" for n, p in parts.items()}, heading)
                for i in range(height)
            ]
        above = self._line({n: row[n] for n in self.shown if n != self.folded}, heading)
        below = fold(row[self.folded], max(self.below - len(GAP), 1))
        meaning = "strong" if heading else None
        return [line for line in (above, *(GAP + paint(part, meaning) for part in below)) if line]

    def _line(self, parts: dict[int, str], heading: bool) -> str:
        last = max(parts, default=0)
        out: list[str] = []
        for number, text in parts.items():
            space = " " * (self.widths[number] - width(text))
            painted = paint(text, "strong" if heading else self._meaning(number, text))
            if self.right[number]:
                out.append(space + painted)
            else:
                out.append(painted if number == last else painted + space)
        return GAP.join(out).rstrip()

    def _meaning(self, number: int, text: str) -> Meaning | None:
        meaning = self.specs[number].meaning
        return meaning(text) if callable(meaning) else meaning


def _is_number(texts: Sequence[str]) -> bool:
    return any(text != "-" for text in texts) and all(map(_NUMBER.fullmatch, texts))


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}"
    return one_line(str(value))


def _total(widths: Sequence[int], shown: Sequence[int]) -> int:
    return sum(widths[number] for number in shown) + len(GAP) * max(len(shown) - 1, 0)


def _folded(specs: Sequence[Column], widths: Sequence[int], right: Sequence[bool]) -> int:
    """The column that gives way: the one that says so, else the widest text."""
    for number, spec in enumerate(specs):
        if spec.folds:
            return number
    return max(range(len(specs)), key=lambda number: (not right[number], widths[number]))


def _shown_columns(
    specs: Sequence[Column], widths: Sequence[int], empty: set[int], folded: int, limit: int
) -> list[int]:
    """The columns that stay so that the folded one has room next to them, or below."""
    remaining = list(range(len(specs)))
    given_up = [n for n in remaining if n != folded and (specs[n].drop or n in empty)]
    order = sorted(given_up, key=lambda n: (n not in empty, specs[n].drop))
    needed = min(widths[folded], NARROWEST)
    for number in order:
        others = [n for n in remaining if n != folded]
        if _total(widths, others) + len(GAP) + needed <= limit:
            break
        remaining.remove(number)
    return remaining
