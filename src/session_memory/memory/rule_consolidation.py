"""MEMORY.md without a model: what traces say, merged and ranked, each line with its trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from session_memory.clock import iso
from session_memory.core.text.safe_text import one_line
from session_memory.memory.findings import Findings, findings
from session_memory.memory.layout import MEMORY
from session_memory.memory.skills import SKILL_FILE, SKILLS, VERIFY, recipe, verify_skill
from session_memory.memory.stale import Lookup, mark_gone
from session_memory.memory.statements import Statement
from session_memory.memory.trace_parts import Parts
from session_memory.memory.wording import cite

Files = dict[str, str]
"""Texts by their path inside a memory."""
_SHORT = 8
_NAMED = 2


def merge(traces: Sequence[Parts], files: Mapping[str, str], lookup: Lookup) -> Files:
    """MEMORY.md and its skills from traces, newest first; `files` names each thread's trace."""
    found = findings(traces)
    page = _Page(traces, lookup)
    steps = recipe(found)
    lines = ["# Memory", ""]
    lines += page.section("First steps", _first_steps(found, traces))
    lines += page.section("What the user wants", found.rules)
    lines += page.section("Commands that work here", _commands(found))
    lines += page.section("Failures and what cured them", found.failures)
    lines += page.section("Known here", found.facts)
    lines += page.section("Decisions", found.decisions)
    lines += page.section("Open", found.open)
    lines += page.section("Done lately", found.done)
    lines += page.section("Files that matter", _files(found, len(traces)))
    made: Files = {}
    if steps:
        path = f"{SKILLS}/{VERIFY}/{SKILL_FILE}"
        made[path] = verify_skill(steps, found)
        lines += ["## Skills", "", f"- [{VERIFY}]({path}): how a change is verified here", ""]
    lines += page.sources(files)
    made[MEMORY] = "\n".join(lines).rstrip() + "\n"
    return made


class _Page:
    """Writes statements: marked where stale, each with the traces and events behind it."""

    def __init__(self, traces: Sequence[Parts], lookup: Lookup) -> None:
        self._traces = traces
        self._lookup = lookup
        self._names = short_names([parts.thread for parts in traces])

    def section(self, heading: str, found: Sequence[Statement]) -> list[str]:
        if not found:
            return []
        return [f"## {heading}", "", *map(self._line, found), ""]

    def _line(self, one: Statement) -> str:
        text = mark_gone(_inert(one.text), self._lookup)
        note = f" ({one.note})" if one.note else ""
        named = ", ".join(self._names.get(thread, thread) for thread in one.threads[:_NAMED])
        more = f" and {len(one.threads) - _NAMED} more" if len(one.threads) > _NAMED else ""
        return f"- {text}{note} (trace {named}{more}){cite(*one.events)}"

    def sources(self, files: Mapping[str, str]) -> list[str]:
        lines = ["## Traces", ""]
        for parts in self._traces:
            title = _inert(parts.title).replace("[", "(").replace("]", ")")
            when = (iso(parts.at) or "-")[:10]
            link = f"[{title}]({files[parts.thread]})" if parts.thread in files else title
            lines.append(f"- {self._names[parts.thread]}: {when} {parts.outcome}, {link}")
        return lines


def short_names(threads: Sequence[str]) -> dict[str, str]:
    """The shortest beginnings, of eight characters or more, that tell threads apart."""
    names: dict[str, str] = {}
    for thread in threads:
        size = _SHORT
        others = [other for other in threads if other != thread]
        while size < len(thread) and any(other.startswith(thread[:size]) for other in others):
            size += 1
        names[thread] = thread[:size].rstrip("-")
    return names


def _first_steps(found: Findings, traces: Sequence[Parts]) -> list[Statement]:
    """Where to begin: what to verify with, where work happens, where the last session stopped."""
    steps: list[Statement] = []
    checks = [
        one for one in found.commands if one.verifies and not one.mends and not one.found.note
    ]
    by_kind = {one.verifies: one for one in reversed(checks)}
    best = [one for one in checks if by_kind[one.verifies] is one][:3]
    if best:
        named = ", ".join(
            f"`{one.command}` ({one.verifies}{f', in `{one.place}`' if one.place else ''})"
            for one in best
        )
        first = best[0].found
        steps.append(Statement(f"Verify a change with {named}.", first.threads, first.events))
    if found.files and len(found.files[0].threads) > 1:
        named = ", ".join(one.text for one in found.files[:3])
        threads = tuple(dict.fromkeys(t for one in found.files[:3] for t in one.threads))
        steps.append(Statement(f"Work here mostly touches {named}.", threads))
    if traces:
        last = next((parts for parts in traces if parts.outcome != "uncertain"), traces[0])
        text = f"The last work was: {last.title.rstrip('.')} ({last.outcome})."
        steps.append(Statement(text, (last.thread,)))
    return steps


def _commands(found: Findings) -> list[Statement]:
    said: list[Statement] = []
    for one in found.commands:
        shows = (
            f" {'mends' if one.mends else 'verifies'} {one.verifies}" if one.verifies else " works"
        )
        if one.place:
            shows = f" in `{one.place}`{shows}"
        often = len(one.found.threads)
        seen = f"; passed in {often} sessions" if often > 1 else ""
        said.append(
            Statement(
                f"`{one.command}`{shows}{seen}",
                one.found.threads,
                one.found.events,
                note=one.found.note,
            )
        )
    return said


def _files(found: Findings, traces: int) -> list[Statement]:
    if traces == 1:
        return [Statement(f"{one.text}: changed", one.threads, one.events) for one in found.files]
    return [
        Statement(
            f"{one.text}: changed in {len(one.threads)} of {traces} sessions",
            one.threads,
            one.events,
        )
        for one in found.files
    ]


def _inert(text: str) -> str:
    """Words of a trace on one line; none of them may look like a mark or a link of ours."""
    shown = one_line(text).replace("<!--", "<! --").replace("-->", "-- >")
    return shown.replace("](", "] (")
