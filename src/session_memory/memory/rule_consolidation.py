"""MEMORY.md without a model: what traces say, merged and ranked, each line with its traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from session_memory.clock import iso
from session_memory.core.text.safe_text import one_line
from session_memory.memory.findings import Command, Findings, find_all
from session_memory.memory.layout import MEMORY, SKILL_FILE, SKILLS
from session_memory.memory.outputs import Files
from session_memory.memory.stale import Lookup, mark_gone
from session_memory.memory.statements import Statement
from session_memory.memory.trace_parser import ParsedTrace
from session_memory.memory.wording import cite

SHORT_CHARS = 8
NAMED_TRACES = 2
VERIFY_SKILL = "verify-changes"
LEAST_SESSIONS = 2
_CHECK_ORDER = ("build", "types", "lint", "tests")


def make_memory(
    traces: Sequence[ParsedTrace], trace_files: Mapping[str, str], lookup: Lookup
) -> Files:
    """MEMORY.md and its skills from traces, newest first; `trace_files` has a path per thread."""
    findings = find_all(traces)
    page = _Page(traces, lookup)
    steps = verification_steps(findings)
    lines = ["# Memory", ""]
    lines += page.section("First steps", _first_steps(findings, traces))
    lines += page.section("What the user wants", findings.rules)
    lines += page.section("Commands that work here", _commands(findings))
    lines += page.section("Failures and what cured them", findings.failures)
    lines += page.section("Known here", findings.facts)
    lines += page.section("Decisions", findings.decisions)
    lines += page.section("Open", findings.open)
    lines += page.section("Done lately", findings.done)
    lines += page.section("Files that matter", _files(findings, len(traces)))
    files: Files = {}
    if steps:
        path = f"{SKILLS}/{VERIFY_SKILL}/{SKILL_FILE}"
        files[path] = verify_skill(steps, findings)
        lines += ["## Skills", "", f"- [{VERIFY_SKILL}]({path}): how a change is verified here", ""]
    lines += page.sources(trace_files)
    files[MEMORY] = "\n".join(lines).rstrip() + "\n"
    return files


class _Page:
    """Writes statements: marked if stale, each with the traces and events behind it."""

    def __init__(self, traces: Sequence[ParsedTrace], lookup: Lookup) -> None:
        self._traces = traces
        self._lookup = lookup
        self._names = short_names([trace.thread for trace in traces])

    def section(self, heading: str, statements: Sequence[Statement]) -> list[str]:
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

    def sources(self, trace_files: Mapping[str, str]) -> list[str]:
        lines = ["## Traces", ""]
        for trace in self._traces:
            title = _inert(trace.title).replace("[", "(").replace("]", ")")
            when = (iso(trace.at) or "-")[:10]
            path = trace_files.get(trace.thread)
            link = f"[{title}]({path})" if path is not None else title
            lines.append(f"- {self._names[trace.thread]}: {when} {trace.outcome}, {link}")
        return lines


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


def _first_steps(findings: Findings, traces: Sequence[ParsedTrace]) -> list[Statement]:
    """Where to begin: how to verify, which files are usually changed, what was done last."""
    steps: list[Statement] = []
    checks = [
        command
        for command in findings.commands
        if command.verifies and not command.fixes and not command.statement.note
    ]
    first_of_kind = {command.verifies: command for command in reversed(checks)}
    best = [command for command in checks if first_of_kind[command.verifies] is command][:3]
    if best:
        named = ", ".join(
            f"`{check.command}` ({check.verifies}{_in_directory(check.directory)})"
            for check in best
        )
        evidence = best[0].statement
        text = f"Verify a change with {named}."
        steps.append(Statement(text, evidence.threads, evidence.events))
    files = findings.files[:3]
    if files and len(files[0].threads) > 1:
        named = ", ".join(file.text for file in files)
        threads = tuple(dict.fromkeys(thread for file in files for thread in file.threads))
        steps.append(Statement(f"Work here mostly touches {named}.", threads))
    if traces:
        last = next((trace for trace in traces if trace.outcome != "uncertain"), traces[0])
        text = f"The last work was: {last.title.rstrip('.')} ({last.outcome})."
        steps.append(Statement(text, (last.thread,)))
    return steps


def _in_directory(directory: str) -> str:
    return f", in `{directory}`" if directory else ""


def _commands(findings: Findings) -> list[Statement]:
    statements: list[Statement] = []
    for command in findings.commands:
        verb = "mends" if command.fixes else "verifies"
        effect = f" {verb} {command.verifies}" if command.verifies else " works"
        if command.directory:
            effect = f" in `{command.directory}`{effect}"
        evidence = command.statement
        sessions = len(evidence.threads)
        passed = f"; passed in {sessions} sessions" if sessions > 1 else ""
        text = f"`{command.command}`{effect}{passed}"
        statements.append(Statement(text, evidence.threads, evidence.events, note=evidence.note))
    return statements


def _files(findings: Findings, traces: int) -> list[Statement]:
    def text(file: Statement) -> str:
        if traces == 1:
            return f"{file.text}: changed"
        return f"{file.text}: changed in {len(file.threads)} of {traces} sessions"

    return [Statement(text(file), file.threads, file.events) for file in findings.files]


def verification_steps(findings: Findings) -> tuple[Command, ...]:
    """Checks that passed together in at least two sessions; one alone is not a procedure."""
    steps: list[Command] = []
    for command in findings.commands:
        threads = set(command.statement.threads)
        if len(threads) < LEAST_SESSIONS or not command.verifies or command.fixes:
            continue
        together = threads.intersection(*(set(step.statement.threads) for step in steps))
        verified = {step.verifies for step in steps}
        if len(together) >= LEAST_SESSIONS and command.verifies not in verified:
            steps.append(command)
    return tuple(sorted(steps, key=_check_position)) if len(steps) > 1 else ()


def _check_position(command: Command) -> int:
    return min(_CHECK_ORDER.index(word) for word in command.verifies.split(" and "))


def verify_skill(steps: Sequence[Command], findings: Findings) -> str:
    """The text of the skill: the steps in order, then their known failures."""
    kinds = ", ".join(dict.fromkeys(step.verifies for step in steps))
    threads = steps[0].statement.threads
    together = set(threads).intersection(*(set(step.statement.threads) for step in steps))
    named = [thread[:8] for thread in threads if thread in together][:3]
    lines = [
        "---",
        f"name: {VERIFY_SKILL}",
        f"description: Verify a change in this project ({kinds}). Use before calling work done.",
        "---",
        "",
        f"These passed together in {len(together)} sessions (trace {', '.join(named)}).",
        "",
    ]
    lines += [
        f"{number}. `{step.command}` ({step.verifies})" for number, step in enumerate(steps, 1)
    ]
    lines += ["", "Work is done when all of them pass after the last change."]
    failures = [
        failure.text
        for failure in findings.failures
        if any(step.command in failure.text for step in steps)
    ]
    if failures:
        lines += ["", "Known to go wrong:", "", *(f"- {text}" for text in failures[:5])]
    return "\n".join(lines) + "\n"


def _inert(text: str) -> str:
    """Text of a trace on one line, with nothing that looks like a mark or a link of ours."""
    shown = one_line(text).replace("<!--", "<! --").replace("-->", "-- >")
    return shown.replace("](", "] (")
