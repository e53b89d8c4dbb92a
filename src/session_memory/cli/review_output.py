"""How patterns and decisions on them look, for people and for programs."""

from __future__ import annotations

from typing import Any

import msgspec

from session_memory.cli.output import human_time, one_line, safe
from session_memory.core.loop.catalog import Catalog, GateResult, Pattern, Snapshot
from session_memory.curate.bloat import Said, bloat_warnings
from session_memory.curate.review import Reviewed, awaits_decision, find, grounds
from session_memory.settings import Curate


def told(item: Reviewed) -> dict[str, object]:
    """A decision, for programs."""
    pattern = item.pattern
    facts = {"id": pattern.id, "before": item.before, **msgspec.to_builtins(pattern.current)}
    return {**facts, "gate": _gate_facts(item.gate), "warnings": item.warnings}


def sentence(item: Reviewed, dry_run: bool) -> str:
    """A decision, for people."""
    current = item.pattern.current
    change = f"{item.before} -> {current.status}" if item.before != current.status else item.before
    would = "would be " if dry_run else ""
    text = f"{item.pattern.id}: {would}{change}, version {current.number}"
    if item.is_foreign:
        return f"{text}; it quotes what a tool said: edit it into words of your own"
    thin = current.status == "provisional" and not item.gate.distributes
    return f"{text}; {'; '.join(map(str, item.gate.shortfalls))}" if thin else text


def described(
    catalog: Catalog, name: str, policy: Curate, said: Said | None = None
) -> dict[str, Any]:
    """Everything a person needs in order to decide."""
    entry, ground = find(catalog, name), grounds(catalog, name, policy)
    current = entry.current if isinstance(entry, Pattern) else None
    return {
        "id": name,
        "status": catalog.status(name),
        "distribution_ready": current is not None and current.distribution_ready,
        "version": current.number if current else 0,
        "awaits_decision": awaits_decision(catalog, name, policy),
        "kind": entry.kind,
        "type": entry.type,
        "locus": entry.locus,
        "text": entry.text,
        "edited_by_hand": isinstance(entry, Pattern) and entry.is_edited,
        "snapshot": ground.snapshot,
        "evidence": ground.evidence,
        "gate": _gate_facts(ground.gate),
        "retirement": catalog.retirement(name),
        "warnings": bloat_warnings(catalog, entry, policy.max_patterns, said),
    }


def _gate_facts(result: GateResult) -> dict[str, object]:
    return {
        "promotes": result.promotes,
        "distributes": result.distributes,
        "shortfalls": result.shortfalls,
        "says": _says(result),
    }


def _says(result: GateResult) -> str:
    if result.distributes:
        return "a yes approves it"
    tier = "distribute" if result.promotes else "promote"
    short = "; ".join(str(short) for short in result.shortfalls if short.tier == tier)
    return f"a yes makes it provisional: {short}" if result.promotes else f"too thin: {short}"


def as_text(row: dict[str, Any], now: int) -> str:
    """What `described` gathered, for people."""
    counts: Snapshot = row["snapshot"]
    head = f"{row['id']}  {row['status']}  {row['kind']}"
    flavors = one_line(", ".join(counts.flavors)) or "-"
    seen = f"{counts.frequency} times in {counts.sessions} sessions ({flavors})"
    last = human_time(counts.last_seen, now)
    lines = [
        f"{head}  {one_line(row['type'])}: {one_line(row['locus'])}",
        indented(row["text"]),
        f"  seen {seen}, {len(counts.repos)} repositories, ${counts.cost_impact:.2f}, last {last}",
        f"  gate: {row['gate']['says']}",
    ]
    if row["edited_by_hand"]:
        lines.append("  edited by hand: approve it to take the new text")
    if retirement := row["retirement"]:
        lines.append(f"  measured: {one_line(retirement.reason)}")
        lines.append(f"  proposed: review retire {row['id']}; review approve {row['id']} keeps it")
    lines += [f"  warning: {one_line(warning.message)}" for warning in row["warnings"]]
    for item in row["evidence"]:
        lines.append(
            f"  - {one_line(item.flavor)}:{one_line(item.session)}  {one_line(item.quote)}"
        )
    return "\n".join(lines) + "\n"


def indented(text: str) -> str:
    """A text set off from what we say about it."""
    return "\n".join(f"  | {line}" for line in safe(text).splitlines())
