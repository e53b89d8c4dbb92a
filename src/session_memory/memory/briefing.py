"""What a new session is told about its project: checks, traps, rules, open work.

Made from the digests of earlier sessions by rules that would rather say nothing than something
wrong. At most 400 tokens: whoever wants more finds it in MEMORY.md or asks the tools.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from session_memory.core.event_ids import split
from session_memory.core.forget import FORGOTTEN
from session_memory.core.schema import NoticeKind, Project
from session_memory.distil.git_state import left_on_branch
from session_memory.memory.cut_off_delivery import cut_off_delivery
from session_memory.memory.instructions import (
    logged_instructions,
    names_command,
    states_trap,
    states_wish,
)
from session_memory.memory.known_session import MAX_SESSIONS, KnownSession
from session_memory.memory.project_checks import Check, find_checks
from session_memory.memory.traps import find_traps
from session_memory.memory.wishes import find_wishes
from session_memory.memory.wording import code
from session_memory.store.port import SessionQuery, SessionReader

MAX_CHARS = 1_600
RECENT = 20
"""Sessions among which a trap or a notice was met last: projects change their tools."""
NEWEST = 10
"""Sessions among which a check must have passed, and a trap that only one met was met."""
_FEW = 5  # with at most this many sessions, one that passed a check is enough
_MAX_CHECKS = 4
_MAX_TRAPS = 5
_MAX_RULES = 6

LineKind = Literal["verify", "trap", "rule", "fact", "open"]


class EventReference(msgspec.Struct, frozen=True):
    """An event that a line rests on."""

    session: int
    seq: int


class BriefingLine(msgspec.Struct, frozen=True):
    """One line, and what it rests on."""

    kind: LineKind
    text: str
    evidence: tuple[EventReference, ...]


def briefing(sessions: Sequence[KnownSession], known_text: str = "") -> list[BriefingLine]:
    """The lines in order of value; `sessions` newest first, without sub-agents.

    `known_text` is what the agent reads anyway, such as CLAUDE.md: nothing in it is repeated.
    """
    # A session without a task, such as a probe, says nothing about how recent the others are.
    at_work = [each for each in sessions if each.digest.task != "none" or each.digest.commands]
    lines = [
        *_verify(at_work, known_text),
        *_traps(at_work, known_text),
        *_rules(sessions, known_text),
        *_facts(at_work),
        *_left_open(at_work[:1]),
    ]
    return list(_fitting(lines))


def briefing_of(store: SessionReader, project: Project, known_text: str = "") -> list[BriefingLine]:
    """The briefing of a project in a store."""
    query = SessionQuery(project=project.key, include_subagents=False, limit=MAX_SESSIONS)
    roots = tuple(root for root in (project.root, *project.aliases) if root)
    sessions: list[KnownSession] = []
    for session in store.sessions(query):
        digest = store.digest(session.id)
        if digest is not None and session.source_kind != "internal":
            at = session.ended_at or session.started_at or 0
            sessions.append(
                KnownSession(session.id, session.external_id, at, digest, roots, session.branch)
            )
    sessions.sort(key=lambda session: -session.at)
    return briefing(sessions, f"{known_text}\n{logged_instructions(store, sessions)}")


def _fitting(lines: Iterable[BriefingLine]) -> Iterator[BriefingLine]:
    room = MAX_CHARS
    for line in lines:
        if FORGOTTEN in line.text:  # without the forgotten words it would only mislead
            continue
        room -= len(line.text) + 3
        if room >= 0:
            yield line


def _verify(sessions: Sequence[KnownSession], known_text: str) -> list[BriefingLine]:
    """One line: the checks that sessions here pass, one of each kind, the broadest first."""
    newest = {session.id for session in sessions[:NEWEST]}
    least = 2 if len(sessions) > _FEW else 1
    best: dict[str, Check] = {}
    checks = find_checks(sessions).included
    for check in checks:
        holds = check.passed[0][0].id in newest and not _failed_since(check)
        if holds and check.is_general and check.sessions >= max(least, 2 * len(check.failed)):
            best.setdefault(check.kind, check)
    new_checks = [check for check in best.values() if not names_command(known_text, check.command)]
    new_checks = new_checks[:_MAX_CHECKS]
    if not new_checks:
        return []
    shown = _shown(new_checks)
    times = new_checks[0].sessions
    plural = "session" if times == 1 else "sessions"
    first = "it" if len(new_checks) == 1 else "the first"
    tested = any(check.kind in ("test", "any") for check in checks)
    lack = "" if tested else "; no run of all tests was seen"
    text = f"Verify {shown} ({first} passed in {times} {plural}{lack})"
    passed = (check.passed[0] for check in new_checks)
    return [BriefingLine("verify", text, tuple(EventReference(s.id, seq) for s, seq in passed))]


def _shown(checks: Sequence[Check]) -> str:
    """The checks in a row; a directory that all are run in is named once."""
    directories = {check.directory for check in checks}
    if len(checks) == 1 or len(directories) > 1 or "" in directories:
        return "with " + ", ".join(check.shown for check in checks)
    return f"in {code(directories.pop())} with " + ", ".join(code(c.command) for c in checks)


def _failed_since(check: Check) -> bool:
    return any(failed.at >= check.passed[0][0].at for failed in check.failed)


def _traps(sessions: Sequence[KnownSession], known_text: str) -> list[BriefingLine]:
    """Calls that fail here and what works instead, those of most sessions first."""
    newest = {session.thread for session in sessions[:NEWEST]}
    recent = {session.thread for session in sessions[:RECENT]}
    lines = [
        BriefingLine("trap", trap.text, _references(trap.events))
        for trap in find_traps(sessions).included
        if len(recent.intersection(trap.threads)) > 1 or newest.issuperset(trap.threads)
    ]
    return [line for line in lines if not states_trap(known_text, line.text)][:_MAX_TRAPS]


def _rules(sessions: Sequence[KnownSession], known_text: str) -> list[BriefingLine]:
    """What the user asked for in several sessions; said once, it was mostly about one task."""
    lines: list[BriefingLine] = []
    for wish in find_wishes(sessions).included:
        if len(wish.threads) > 1 and not states_wish(known_text, wish.text):
            text = f"The user wants: {wish.text}"
            lines.append(BriefingLine("rule", text, _references(wish.events)))
    return lines[:_MAX_RULES]


def _references(events: Iterable[int]) -> tuple[EventReference, ...]:
    return tuple(EventReference(*split(event)) for event in events)


def _facts(sessions: Sequence[KnownSession]) -> list[BriefingLine]:
    """Notices of git and servers: a rule of the host counts once seen, a habit once seen twice."""
    notices: dict[tuple[NoticeKind, str], list[EventReference]] = {}
    for session in sessions:
        for notice in session.digest.notices:
            reference = EventReference(session.id, notice.seq)
            notices.setdefault((notice.kind, notice.subject), []).append(reference)
    lines: list[BriefingLine] = []
    recent = {session.id for session in sessions[:RECENT]}
    for (kind, subject), evidence in notices.items():
        if recent.isdisjoint(reference.session for reference in evidence):
            continue
        met = len({reference.session for reference in evidence})
        if kind == "pull requests only":
            text = f"`{subject}` is protected: the host wants changes to it as pull requests"
        elif met < 2:
            continue
        elif kind == "behind remote":
            text = f"Local `{subject}` is often behind its remote: `git fetch` first"
        else:
            text = f"An old server often still holds port {subject}: see which URL yours prints"
        lines.append(
            BriefingLine("fact", text + (f" ({met} sessions)" if met > 1 else ""), tuple(evidence))
        )
    return lines


def _left_open(newest: Sequence[KnownSession]) -> list[BriefingLine]:
    """Where the last session left its branch or broke off; what older ones left is mostly done."""
    for session in newest:
        state = session.digest.git
        branch = left_on_branch(state)
        if session.digest.task == "work" and branch and state is not None:
            reference = EventReference(session.id, state.committed_seq)
            return [BriefingLine("open", f"{branch} ({session.day})", (reference,))]
        cut = cut_off_delivery(session)
        if cut is not None:
            on = f" on branch {cut.branch}" if cut.branch else ""
            text = f"The last session ({session.day}) broke off{on}, last with {code(cut.command)}"
            reference = EventReference(session.id, cut.seq)
            return [BriefingLine("open", f"{text}: check its state", (reference,))]
    return []
