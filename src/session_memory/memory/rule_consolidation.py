"""MEMORY.md without a model: what sessions show together, each line with what it rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from session_memory.clock import iso
from session_memory.core.text.safe_text import QUOTED, one_line
from session_memory.memory.findings import LEAST_SESSIONS, Findings, find_all
from session_memory.memory.known_session import KnownSession
from session_memory.memory.layout import MEMORY, SKILL_FILE, SKILLS, SUMMARY
from session_memory.memory.outputs import Files
from session_memory.memory.project_checks import Check
from session_memory.memory.stale import Lookup, mark_gone
from session_memory.memory.statements import Statement
from session_memory.memory.trace_parser import ParsedTrace
from session_memory.memory.wording import cite

SHORT_CHARS = 8
NAMED_TRACES = 2
VERIFY_SKILL = "verify-changes"
_CHECK_ORDER = ("formatting", "build", "types", "lint", "tests", "a change")


class Memory(msgspec.Struct, frozen=True):
    """What a consolidation makes."""

    files: Files
    by_rules: bool = False
    """True if no model wrote it, so that its lines are known one by one."""
    included: tuple[Statement, ...] = ()
    left_out: tuple[Statement, ...] = ()
    """What is known and left out, each with the reason as its note."""


def make_memory(
    traces: Sequence[ParsedTrace],
    trace_files: Mapping[str, str],
    lookup: Lookup,
    sessions: Sequence[KnownSession] = (),
    known_text: str = "",
) -> Memory:
    """MEMORY.md and its skills from traces and the digests of their sessions, newest first.

    `trace_files` has a path for each thread whose trace has a file; `known_text` is what agents
    read in the repository anyway.
    """
    findings = find_all(traces, sessions, known_text)
    page = _Page(traces, trace_files, lookup)
    sections = {
        "How to verify a change": findings.checks.statements,
        "What the user wants": findings.wishes.included,
        "What fails here and what works": (*findings.traps.included, *findings.noted),
        "Known here": findings.facts,
        "Decisions": findings.decisions,
        "Open": findings.open,
        "Where work mostly is": _files_line(findings, len(sessions)),
    }
    lines = ["# Memory", "", *page.head()]
    for heading, statements in sections.items():
        lines += page.section(heading, statements)
    files: Files = {}
    steps = verification_steps(findings)
    if steps:
        path = f"{SKILLS}/{VERIFY_SKILL}/{SKILL_FILE}"
        files[path] = verify_skill(steps, findings)
        lines += ["## Skills", "", f"- [{VERIFY_SKILL}]({path}): how a change is verified here", ""]
    files[MEMORY] = "\n".join(lines).rstrip() + "\n"
    included = tuple(statement for statements in sections.values() for statement in statements)
    return Memory(files, True, included, findings.left_out)


class _Page:
    """Writes statements: marked if stale, each with the traces and events behind it."""

    def __init__(
        self, traces: Sequence[ParsedTrace], trace_files: Mapping[str, str], lookup: Lookup
    ) -> None:
        self._traces = traces
        self._files = trace_files
        self._lookup = lookup
        self._names = short_names([trace.thread for trace in traces])

    def head(self) -> list[str]:
        """How much the page rests on, and when the last session was."""
        if not self._traces:
            return []
        number = len(self._traces)
        newest = (iso(self._traces[0].at) or "-")[:10]
        made = f"1 session, of {newest}" if number == 1 else f"{number} sessions, last {newest}"
        summary = f"[one line each]({SUMMARY})"
        rests = "Every line says on how many it rests."
        return [f"Made of {made} ({summary}): {QUOTED}. {rests}", ""]

    def section(self, heading: str, statements: Sequence[Statement]) -> list[str]:
        """A heading and its lines; nothing without lines."""
        if not statements:
            return []
        return [f"## {heading}", "", *map(self._line, statements), ""]

    def _line(self, statement: Statement) -> str:
        text = mark_gone(_inert(statement.text), self._lookup)
        note = f" ({statement.note})" if statement.note else ""
        threads = statement.threads
        named = ", ".join(self._names.get(thread, thread) for thread in threads[:NAMED_TRACES])
        more = f" and {len(threads) - NAMED_TRACES} more" if len(threads) > NAMED_TRACES else ""
        return f"- {text}{note} (trace {named}{more}){cite(*statement.events)}"


def short_names(threads: Sequence[str]) -> dict[str, str]:
    """The shortest unambiguous prefixes of threads, of at least eight characters."""
    names: dict[str, str] = {}
    for thread in threads:
        size = SHORT_CHARS
        others = [other for other in threads if other != thread]
        while size < len(thread) and any(other.startswith(thread[:size]) for other in others):
            size += 1
        names[thread] = thread[:size].rstrip("-")
    return names


def _files_line(findings: Findings, sessions: int) -> list[Statement]:
    """The files that sessions change most, on one line."""
    if not findings.files:
        return []
    named = ", ".join(file.text for file in findings.files)
    threads = tuple(dict.fromkeys(thread for file in findings.files for thread in file.threads))
    return [Statement(f"Of {sessions} sessions, most changed {named}", threads, key="files")]


def verification_steps(findings: Findings) -> tuple[Check, ...]:
    """Checks that passed together in at least two sessions; one alone is not a procedure."""
    steps: list[Check] = []
    for check in findings.checks.included:
        if check.shown in findings.checks.notes:
            continue
        together = _sessions_of(check).intersection(*map(_sessions_of, steps))
        if len(together) >= LEAST_SESSIONS and check.kind not in {step.kind for step in steps}:
            steps.append(check)
    order = sorted(steps, key=lambda check: _CHECK_ORDER.index(check.verifies))
    return tuple(order) if len(order) > 1 else ()


def _sessions_of(check: Check) -> set[str]:
    return {session.thread for session, _ in check.passed}


def verify_skill(steps: Sequence[Check], findings: Findings) -> str:
    """The text of the skill: the steps in order, then their known failures."""
    kinds = ", ".join(step.verifies for step in steps)
    together = set[str].intersection(*map(_sessions_of, steps))
    named = [s.thread[:SHORT_CHARS] for s, _ in steps[0].passed if s.thread in together][:3]
    lines = [
        "---",
        f"name: {VERIFY_SKILL}",
        f"description: Verify a change in this project ({kinds}). Use before calling work done.",
        "---",
        "",
        f"These passed together in {len(together)} sessions (trace {', '.join(named)}).",
        "",
        *(f"{number}. {step.shown} ({step.verifies})" for number, step in enumerate(steps, 1)),
        "",
        "Work is done when all of them pass after the last change.",
    ]
    traps = [
        trap.text
        for trap in findings.traps.included
        if any(step.command in trap.text for step in steps)
    ]
    if traps:
        lines += ["", "Known to go wrong:", "", *(f"- {text}" for text in traps[:5])]
    return "\n".join(lines) + "\n"


def _inert(text: str) -> str:
    """Text of a trace on one line, with nothing that looks like a mark or a link of ours."""
    shown = one_line(text).replace("<!--", "<! --").replace("-->", "-- >")
    return shown.replace("](", "] (")
