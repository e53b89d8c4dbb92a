"""The table of figures and the lists behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.bench.quality.labels import HALVES, Half
from tests.bench.quality.scoring import Finding, Score, Share

Scores = Mapping[str, Mapping[Half, Score]]
_TITLES: dict[Half, str] = {"development": "development half", "report": "report half"}


def table(scores: Scores) -> str:
    """All figures, both halves beside each other, as Markdown."""
    rows: list[tuple[str, ...]] = [("output", "figure", *(_TITLES[half] for half in HALVES))]
    for output, halves in scores.items():
        names = list(dict.fromkeys(name for half in HALVES for name in halves[half].figures))
        for name in names:
            shares = (halves[half].figures.get(name, Share(0, 0)) for half in HALVES)
            rows.append((output, name, *map(shown, shares)))
            output = ""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    rows.insert(1, tuple("-" * width for width in widths))
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in rows
    )


def shown(share: Share) -> str:
    """A share in per cent, with its counts."""
    if not share.of:
        return "- (0)"
    return f"{100 * share.hits / share.of:.0f} % ({share.hits}/{share.of})"


def misses(scores: Scores, halves: Sequence[Half]) -> Iterator[str]:
    """Every miss and every wrong line, by output."""
    for output, half, score in _each(scores, halves):
        for title, findings in (("missed", score.missed), ("wrong", score.wrong)):
            if findings:
                yield f"\n## {output}, {_TITLES[half]}: {len(findings)} {title}"
            yield from map(_finding, findings)


def unjudged(scores: Scores, halves: Sequence[Half]) -> Iterator[str]:
    """Every line that no label judges, by output."""
    for output, half, score in _each(scores, halves):
        if score.unjudged:
            yield f"\n## {output}, {_TITLES[half]}: {len(score.unjudged)} unjudged"
        yield from (f"- {line}" for line in score.unjudged)


def _each(scores: Scores, halves: Sequence[Half]) -> Iterator[tuple[str, Half, Score]]:
    for output, by_half in scores.items():
        for half in halves:
            yield output, half, by_half[half]


def _finding(finding: Finding) -> str:
    lines = [f"- {finding.label}: {finding.expected}"]
    if finding.printed:
        lines.append(f"    printed: {' '.join(finding.printed.split())}")
    return "\n".join(lines)


def as_json(scores: Scores, halves: Sequence[Half]) -> dict[str, Any]:
    """Figures of both halves, and the lists of those asked for."""
    return {
        output: {
            half: {
                "figures": {name: share._asdict() for name, share in score.figures.items()},
                **(_lists(score) if half in halves else {}),
            }
            for half, score in by_half.items()
        }
        for output, by_half in scores.items()
    }


def _lists(score: Score) -> dict[str, Any]:
    return {
        "missed": [finding._asdict() for finding in score.missed],
        "wrong": [finding._asdict() for finding in score.wrong],
        "unjudged": score.unjudged,
    }
