"""How rules and decisions on them look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import msgspec

from session_memory.cli.app import App
from session_memory.cli.output import emit_json, human_time, one_line, safe
from session_memory.clock import iso
from session_memory.core.loop.catalog import GateResult, Shortfall, Snapshot
from session_memory.core.text.masks import excerpt
from session_memory.curate.decisions import gate_facts
from session_memory.curate.review import Decision
from session_memory.errors import EXIT_WARNINGS

_QUOTE_CHARS = 100


def short_text(number: int, row: dict[str, Any]) -> str:
    """A rule in the list: its words, what it rests on, and what a yes would do."""
    counts: Snapshot = row["snapshot"]
    status = "" if row["status"] == "candidate" else f" ({row['status']})"
    warnings = [f"warning: {one_line(warning.message)}" for warning in row["warnings"]]
    if retirement := row["retirement"]:
        warnings.append(f"measured: {one_line(retirement.reason)}; `rules retire {row['id']}`")
    if row["edited_by_hand"]:
        warnings.append("edited by hand: approve it to take the new text")
    lines = [
        f"{_seen(counts)}, last {(iso(counts.last_seen) or '-')[:10]}",
        *([f"sure: {one_line(row['sure'])}"] if row["sure"] else []),
        f"{row['gate']['says']}",
        *warnings,
    ]
    head = f"{number:>3}. {one_line(row['text'])}  [{row['id']}]{status}"
    return "\n".join((head, *(f"     {line}" for line in lines)))


def pattern_text(row: dict[str, Any], now: int) -> str:
    """A rule with its evidence, as `describe` gives it."""
    counts: Snapshot = row["snapshot"]
    lines = [
        f"{row['id']}  {row['status']}  {one_line(row['type'])}: {one_line(row['locus'])}",
        indented(row["text"]),
        f"  {_seen(counts)}, last {human_time(counts.last_seen, now)}",
        *([f"  sure: {one_line(row['sure'])}"] if row["sure"] else []),
        f"  gate: {row['gate']['says']}",
    ]
    if row["edited_by_hand"]:
        lines.append("  edited by hand: approve it to take the new text")
    if retirement := row["retirement"]:
        lines.append(f"  measured: {one_line(retirement.reason)}")
        lines.append(f"  proposed: rules retire {row['id']}; rules approve {row['id']} keeps it")
    lines += [f"  warning: {one_line(warning.message)}" for warning in row["warnings"]]
    for item in row["evidence"]:
        session = f"{one_line(item.flavor)}:{one_line(item.session)}"
        day = (iso(item.at) or "")[:10]
        lines.append(f"  - {session}  {day}  {excerpt(one_line(item.quote), _QUOTE_CHARS)}")
    return "\n".join(lines) + "\n"


def _seen(counts: Snapshot) -> str:
    """How often, where and at what cost."""
    if counts.written_by:
        return f"written by {one_line(counts.written_by)} for {', '.join(counts.repos)}"
    times = f"{counts.frequency} time{'s' * (counts.frequency != 1)}"
    sessions = f"{counts.sessions} session{'s' * (counts.sessions != 1)}"
    places = len(counts.repos)
    where = f"{places} repositor{'y' if places == 1 else 'ies'}"
    flavors = one_line(", ".join(counts.flavors)) or "-"
    return f"{times} in {sessions} ({flavors}), {where}, ${counts.cost_impact:.2f}"


def indented(text: str) -> str:
    """A text of several lines, set off from ours."""
    return "\n".join(f"  | {line}" for line in safe(text).splitlines())


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
    """What became of a rule, and why it is not given to agents if it is not."""
    before, current = decision.before, decision.pattern.current
    change = f"{before} -> {current.status}" if before != current.status else before
    would = "would be " if dry_run else ""
    text = f"{decision.pattern.id}: {would}{change}, version {current.number}"
    if decision.is_foreign:
        return f"{text}; it quotes the output of a tool: edit it into words of your own"
    thin = current.status == "provisional" and not decision.gate.distributes
    return f"{text}; {'; '.join(map(str, decision.gate.shortfalls))}" if thin else text


_FIELDS = {"frequency": "occurrences", "sessions": "sessions", "cost_impact": "dollars of cost"}


def gate_text(result: GateResult) -> str:
    """What is missing before agents are given a rule, in plain words."""
    return "; ".join(_missing(short) for short in result.shortfalls if short.tier == "distribute")


def _missing(short: Shortfall) -> str:
    return f"{short.value:g} of {short.floor:g} {_FIELDS[short.field]}"
