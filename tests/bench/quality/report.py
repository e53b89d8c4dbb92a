"""The table of figures and the lists behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.bench.quality.labels import HALVES, Half
from tests.bench.quality.scoring import Finding, Score, Section, Share

Scores = Mapping[str, Mapping[Half, Score]]
_TITLES: dict[Half, str] = {"development": "development half", "report": "report half"}


def table(scores: Scores) -> str:
    """All figures, both halves beside each other, as Markdown."""
    rows: list[tuple[str, ...]] = [("output", "figure", *(_TITLES[half] for half in HALVES))]
    for output, halves in scores.items():
        for name in _names(*(halves[half].figures for half in HALVES)):
            shares = (halves[half].figures.get(name, Share(0, 0)) for half in HALVES)
            rows.append((output, name, *map(shown, shares)))
            output = ""
    return _markdown(rows)


def sections(scores: Scores) -> str:
    """Wanted, unwanted and unjudged lines under each heading, both halves beside each other."""
    rows: list[tuple[str, ...]] = [("output", "heading", *(_TITLES[half] for half in HALVES))]
    for output, halves in scores.items():
        for heading in _names(*(halves[half].sections for half in HALVES)):
            counts = (halves[half].sections.get(heading, Section(0, 0, 0)) for half in HALVES)
            rows.append((output, heading, *("/".join(map(str, count)) for count in counts)))
            output = ""
    return f"Lines wanted/unwanted/unjudged:\n\n{_markdown(rows)}"


def _names(*tables: Mapping[str, object]) -> list[str]:
    return list(dict.fromkeys(name for table in tables for name in table))


def _markdown(rows: list[tuple[str, ...]]) -> str:
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
                "sections": {name: count._asdict() for name, count in score.sections.items()},
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
