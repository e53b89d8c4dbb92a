"""How rules and decisions on them look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click
import msgspec

from session_memory.cli.app import App
from session_memory.cli.output import (
    columns,
    counted,
    emit_json,
    hanging,
    human_time,
    one_line,
    paint,
    safe,
)
from session_memory.clock import iso
from session_memory.core.loop.catalog import Snapshot
from session_memory.core.text.masks import excerpt
from session_memory.curate.decisions import gate_facts
from session_memory.curate.review import Decision
from session_memory.errors import EXIT_WARNINGS

_QUOTE_CHARS = 100
_QUOTES = 3
_INDENT = "     "
_WARNINGS = ("warning: ", "too little evidence", "a yes keeps it", "not given to agents")


def short_text(number: int, row: dict[str, Any], *, quotes: bool = False) -> str:
    """A rule in the list: its words, what it rests on, and what a yes would do."""
    counts: Snapshot = row["snapshot"]
    status = "" if row["status"] == "candidate" else f" ({row['status']})"
    head = f"{one_line(row['text'])}  [{row['id']}]{status}"
    return _laid_out(
        hanging(f"{number:>3}. ", head, columns(), "strong"),
        f"{_seen(row)}, last {(iso(counts.last_seen) or '-')[:10]}",
        *_grounds(row),
        *_verdict(row),
        *_remarks(row),
        *(_quote(item) for item in (row["evidence"] if quotes else ())),
    )


def pattern_text(row: dict[str, Any], now: int, *, every_quote: bool = True) -> str:
    """A rule with its evidence, as `describe` gives it."""
    counts: Snapshot = row["snapshot"]
    evidence = row["evidence"] if every_quote else row["evidence"][:_QUOTES]
    more = len(row["evidence"]) - len(evidence)
    return _laid_out(
        [paint(f"{row['id']}  {row['status']}", "dim"), indented(row["text"])],
        f"{_seen(row)}, last {human_time(counts.last_seen, now)}",
        *_grounds(row),
        *_verdict(row),
        *_remarks(row),
        *(_quote(item) for item in evidence),
        *([f"{more:,} more: session-memory rules show {row['id']}"] if more else []),
    )


def _laid_out(head: list[str], *facts: str) -> str:
    lines = [*head]
    for fact in facts:
        lead = f"{_INDENT}- " if fact.startswith("- ") else _INDENT
        meaning = "warn" if fact.startswith(_WARNINGS) else "dim"
        lines += hanging(lead, fact.removeprefix("- "), columns(), meaning)
    return "\n".join(lines)


def _grounds(row: dict[str, Any]) -> Iterator[str]:
    if row["sure"]:
        yield one_line(row["sure"])


def _verdict(row: dict[str, Any]) -> Iterator[str]:
    """What a yes would do where it does not simply approve the rule."""
    facts = row["gate"]
    few = " (a session counts only a few times)" if row["seen"] > row["snapshot"].frequency else ""
    if row["status"] == "provisional" and not facts["distributes"]:
        yield f"not given to agents yet: {facts['missing']}{few}"
    elif row["status"] != "approved" and not facts["distributes"]:
        yield f"{facts['says']}{few}"


def _remarks(row: dict[str, Any]) -> Iterator[str]:
    if row["edited_by_hand"]:
        yield "edited by hand: approve it to take the new text"
    if retirement := row["retirement"]:
        name = row["id"]
        yield f"measured: {one_line(retirement.reason)}"
        yield f"`rules retire {name}` takes it out of use; `rules approve {name}` keeps it"
    yield from (f"warning: {one_line(warning.message)}" for warning in row["warnings"])


def _quote(item: Any) -> str:
    day, session = (iso(item.at) or "")[:10], one_line(item.session)[:13]
    quote = excerpt(one_line(item.quote), _QUOTE_CHARS)
    return f"- {day}  {one_line(item.flavor)}:{session}  {quote}"


def _seen(row: dict[str, Any]) -> str:
    """How often, where and at what cost, as `rules detect` counts it."""
    counts: Snapshot = row["snapshot"]
    if counts.written_by:
        return f"written by {one_line(counts.written_by)} for {', '.join(counts.repos)}"
    times, sessions = counted(row["seen"], "time"), counted(counts.sessions, "session")
    places = list(map(one_line, counts.repos))
    where = " and ".join(places) if 0 < len(places) < 3 else f"{len(places):,} projects"
    flavors = one_line(", ".join(counts.flavors)) or "-"
    return f"{times} in {sessions} of {where} ({flavors}), cost ${row['cost']:,.2f}"


def indented(text: str) -> str:
    """A text of several lines, set off from ours."""
    lines = [hanging("  | ", line, columns()) for line in safe(text).splitlines()]
    return "\n".join(line.replace("    ", "  | ", 1) for part in lines for line in part)


def print_decisions(app: App, decisions: Sequence[Decision], dry_run: bool) -> None:
    """Every decision, and warnings; exit 3 if there were some."""
    show_decisions(app, decisions, dry_run)
    if any(decision.warnings for decision in decisions):
        click.get_current_context().exit(EXIT_WARNINGS)


def show_decisions(app: App, decisions: Sequence[Decision], dry_run: bool) -> None:
    """Every decision, and warnings."""
    if app.json:
        rows = [_decision_row(decision) for decision in decisions]
        emit_json({"dry_run": dry_run, "decisions": rows})
    for decision in decisions:
        if not app.json:
            click.echo(decision_sentence(decision, dry_run))
        for warning in decision.warnings:
            app.warn(warning.message)


def _decision_row(decision: Decision) -> dict[str, object]:
    pattern = decision.pattern
    return {
        "id": pattern.id,
        "before": decision.before,
        **msgspec.to_builtins(pattern.current),
        "gate": gate_facts(decision.gate),
        "warnings": decision.warnings,
    }


def decision_sentence(decision: Decision, dry_run: bool) -> str:
    """What became of a rule."""
    before, current = decision.before, decision.pattern.current
    change = f"{before} -> {current.status}" if before != current.status else before
    if current.action == "snooze":
        change += f", put off until {(iso(current.snoozed_until) or '')[:10]}"
    if current.superseded_by:
        change += f" by {current.superseded_by}"
    would = "would be " if dry_run else ""
    text = f"{decision.pattern.id}: {would}{change}, version {current.number}"
    quotes = "; it quotes the output of a tool: edit it into words of your own"
    return text + quotes * decision.is_foreign
