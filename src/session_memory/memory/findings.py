"""What all sessions of a project show: checks, traps, wishes, facts, open work.

Checks, traps and wishes come from the digests of all its sessions; what a model wrote down as
knowledge or decision comes from the traces.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import msgspec

from session_memory.core.typed_commands import short_path
from session_memory.memory.cut_off_delivery import cut_off_delivery
from session_memory.memory.instructions import names_command, states_trap, states_wish
from session_memory.memory.known_session import KnownSession
from session_memory.memory.orders import is_order, is_plain_name
from session_memory.memory.project_checks import Check, Checks, find_checks
from session_memory.memory.statements import Statement, merge_same, ranked, statement_of
from session_memory.memory.trace_parser import Bullet, ParsedTrace, SectionName, TraceTask
from session_memory.memory.traps import Traps, find_traps
from session_memory.memory.wishes import Wishes, find_wishes
from session_memory.memory.wording import code

MAX_DECISIONS = 8
MAX_FACTS = 10
MAX_NOTED = 6
MAX_FILES = 5
LEAST_SESSIONS = 2
_LEAST_CHANGED = 3
_LEAST_SHARE = 0.5
_IN_INSTRUCTIONS = "an instruction file of the repository says so"
_BY_RULE = re.compile(
    r"^`[^`]+` (?:passes here|failed|fails )|^`[^`]+`: changed here|^(?:Decided|Done|Blocked): "
    r"|^The agent reported: "
)
"""Bullets that we write ourselves: what they say is read from the digest."""
_NO_PLACE = re.compile(
    r"(?:^|/)(?:\.[\w-]+/|tmp/|temp/|node_modules/|todos?\b|(?:PLAN|STATE|NOTES?|TODO|README"
    r"|CHANGELOG|AGENTS|CLAUDE|GEMINI|HANDOFF|PROGRESS)\b[\w.-]*$)|\.lock$|-lock\.\w+$|^[/~]"
    r"|^[A-Za-z]:|^\.\.|(?:^|/)(?:package|go)\.(?:json|mod|sum)$"
    r"|(?:^|/)(?:index|styles?|globals?)\.\w+$",
    re.I,
)
"""Notes, lists of dependencies, entry pages and files outside: any work touches them."""


class Findings(msgspec.Struct, frozen=True):
    """Everything a memory is written from."""

    checks: Checks = Checks()
    traps: Traps = Traps()
    wishes: Wishes = Wishes()
    facts: tuple[Statement, ...] = ()
    noted: tuple[Statement, ...] = ()
    """Failures in the words of a model."""
    decisions: tuple[Statement, ...] = ()
    open: tuple[Statement, ...] = ()
    files: tuple[Statement, ...] = ()
    known: tuple[Statement, ...] = ()
    """What the repository's own instruction files say."""

    @property
    def left_out(self) -> tuple[Statement, ...]:
        """What is known and left out, each with the reason as its note."""
        omitted = (*self.checks.left_out, *self.traps.left_out, *self.wishes.left_out)
        return (*self.known, *omitted)


def find_all(
    traces: Sequence[ParsedTrace], sessions: Sequence[KnownSession] = (), known_text: str = ""
) -> Findings:
    """What traces and the digests of their sessions, both newest first, say together.

    `known_text` is what agents read anyway, such as CLAUDE.md: nothing in it is said again.
    """
    checks = find_checks(sessions)
    traps, wishes = find_traps(sessions), find_wishes(sessions)
    new_checks = [item for item in checks.included if not names_command(known_text, item.command)]
    known_statements = [
        item.statement(_IN_INSTRUCTIONS) for item in checks.included if item not in new_checks
    ]
    known_statements += _already_said(traps.included, lambda text: states_trap(known_text, text))
    known_statements += _already_said(wishes.included, lambda text: states_wish(known_text, text))
    keys = {item.key for item in known_statements}
    return Findings(
        checks=msgspec.structs.replace(checks, included=tuple(new_checks)),
        traps=msgspec.structs.replace(traps, included=_without(traps.included, keys)),
        wishes=msgspec.structs.replace(wishes, included=_without(wishes.included, keys)),
        known=tuple(known_statements),
        facts=tuple(ranked(merge_same(_written_by_models(traces, "knowledge")))[:MAX_FACTS]),
        noted=tuple(ranked(merge_same(_written_by_models(traces, "failures")))[:MAX_NOTED]),
        decisions=tuple(merge_same(_decisions(traces))[:MAX_DECISIONS]),
        open=tuple(_left_open(sessions[:1], checks.included)),
        files=tuple(_files(sessions)),
    )


def _already_said(
    statements: Iterable[Statement], is_known: Callable[[str], bool]
) -> list[Statement]:
    return [
        msgspec.structs.replace(statement, note=_IN_INSTRUCTIONS)
        for statement in statements
        if is_known(statement.text)
    ]


def _without(statements: Iterable[Statement], keys: set[str]) -> tuple[Statement, ...]:
    return tuple(statement for statement in statements if statement.key not in keys)


def _bullets(
    traces: Iterable[ParsedTrace], section: SectionName
) -> Iterable[tuple[ParsedTrace, TraceTask, Bullet]]:
    for trace in traces:
        for task in trace.tasks:
            for bullet in task.bullets(section):
                yield trace, task, bullet


def _written_by_models(traces: Sequence[ParsedTrace], section: SectionName) -> Iterable[Statement]:
    """Bullets in free text, as models write them."""
    for trace, task, bullet in _bullets(traces, section):
        if _BY_RULE.match(bullet.text) is None:
            yield statement_of(bullet, trace, task.outcome)


def _decisions(traces: Sequence[ParsedTrace]) -> Iterable[Statement]:
    for trace, task, bullet in _bullets(traces, "steps"):
        if bullet.text.startswith("Decided: ") and not is_order(bullet.text[9:]):
            yield statement_of(bullet, trace, task.outcome, bullet.text.removeprefix("Decided: "))


def _left_open(newest: Sequence[KnownSession], checks: Sequence[Check]) -> Iterable[Statement]:
    """What the last session left unfinished: a failing check, or a call that never returned."""
    for session in newest:
        digest = session.digest
        if digest.task != "work" or not digest.commands:
            continue
        failing = [
            check for check in checks if any(failed.id == session.id for failed in check.failed)
        ]
        for check in failing[:LEAST_SESSIONS]:
            text = f"The last session ({session.day}) ended while {check.shown} still failed"
            yield Statement(text, (session.thread,), at=session.at, key=f"open {check.shown}")
        cut = cut_off_delivery(session)
        if not failing and cut is not None:
            text = f"The last session ({session.day}) broke off, last with {code(cut.command)}"
            event = (session.event(cut.seq),)
            yield Statement(text, (session.thread,), event, at=session.at, key="open end")


def _files(sessions: Sequence[KnownSession]) -> list[Statement]:
    """Source files that several sessions changed, with the number of sessions."""
    changed: dict[str, list[KnownSession]] = {}
    at_work = 0
    for session in sessions:
        edited = [path for path, edits in session.digest.files.items() if edits]
        at_work += bool(edited)
        for path in dict.fromkeys(short_path(path, session.roots) for path in edited):
            if not _NO_PLACE.search(path) and is_plain_name(path):
                changed.setdefault(path, []).append(session)
    least = max(_LEAST_CHANGED, at_work * _LEAST_SHARE)
    often = [path for path in changed if len(changed[path]) >= least]
    often.sort(key=lambda path: (-len(changed[path]), path))
    return [
        Statement(
            f"{code(path)} ({len(changed[path])} sessions)",
            tuple(session.thread for session in changed[path]),
            at=changed[path][0].at,
            key=f"file {path}",
        )
        for path in often[:MAX_FILES]
    ]
