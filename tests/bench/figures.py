"""A measured figure beside its budget, and the table that shows both."""

from __future__ import annotations

from typing import Literal, NamedTuple

Verdict = Literal["meets goal", "meets must", "misses", ""]


class Figure(NamedTuple):
    """One line of the result. `must` and `goal` are None where the figure is only an anchor."""

    what: str
    measured: float
    unit: str
    must: float | None = None
    goal: float | None = None
    more_is_better: bool = False
    """True for speeds; times, sizes and ratios are the better the smaller they are."""

    @property
    def verdict(self) -> Verdict:
        """How the figure stands to its budget."""
        if self.must is None:
            return ""
        if self.goal is not None and self._reaches(self.goal):
            return "meets goal"
        return "meets must" if self._reaches(self.must) else "misses"

    def _reaches(self, bound: float) -> bool:
        return self.measured >= bound if self.more_is_better else self.measured <= bound


class Section(NamedTuple):
    """The figures of one benchmark and what must be known to read them."""

    title: str
    figures: list[Figure]
    notes: tuple[str, ...] = ()


def percentile(values: list[float], share: float) -> float:
    """The value that `share` of all values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def shown(value: float | None, unit: str) -> str:
    """A figure with three significant digits and its unit."""
    if value is None:
        return ""
    digits = 0 if abs(value) >= 100 else 1 if abs(value) >= 10 else 2 if abs(value) >= 1 else 3
    return f"{value:.{digits}f} {unit}".rstrip()


def table(sections: list[Section]) -> str:
    """All sections as a Markdown table each, which also reads well in a terminal."""
    return "\n\n".join(_section(section) for section in sections)


def _section(section: Section) -> str:
    if not section.figures:
        return section.title
    head = ("what", "measured", "must", "goal", "verdict")
    rows = [
        (f.what, shown(f.measured, f.unit), shown(f.must, ""), shown(f.goal, ""), f.verdict)
        for f in section.figures
    ]
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    rule = tuple("-" * width for width in widths)
    lines = [
        "| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |"
        for row in (head, rule, *rows)
    ]
    notes = [f"- {note}" for note in section.notes]
    return "\n".join([f"### {section.title}", "", *lines, *([""] if notes else []), *notes])
