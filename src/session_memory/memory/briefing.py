"""What a new session is told of its project: how to verify, traps, rules, what was left open.

Made from the digests of earlier sessions by rules that would rather say nothing than something
wrong. At most 400 tokens: whoever wants more finds it in MEMORY.md or asks the tools.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from session_memory.clock import iso
from session_memory.core.forget import FORGOTTEN
from session_memory.core.schema import Cure, Digest, NoticeKind, Project
from session_memory.core.typed_commands import directory_of, typed_command
from session_memory.distil.checks import CheckKind, check_of
from session_memory.distil.project_checks import FIXES, is_project_wide
from session_memory.distil.rule_wording import reads_as_rule
from session_memory.distil.rules import StandingRule, standing_rules
from session_memory.plain_files import read_plain
from session_memory.store.port import SessionQuery, SessionReader

MAX_CHARS = 1_600
RECENT = 20
"""Sessions in which a check must have passed to be told."""
NEWEST = 10
"""Sessions among which it must have been run at all: projects change their tools."""
MAX_SESSIONS = 60
"""Sessions that are looked at; what the user asked for stands longer than anything else."""
_FEW = 5  # sessions among which one that passed a check is enough
MAX_TRAPS = 5
MAX_RULES = 6
_COMMAND_CHARS = 100
_READ_BYTES = 256 * 1024
_ERROR_CHARS = 90
_QUOTE_CHARS = 180
_OTHERS_TOOLS = frozenset(("gh", "git", "curl", "npx"))
_EDITORS = re.compile(r"^(?:\w*(?:Edit|Write)|edit|write|apply_patch|str_replace\w*|replace) ")
_PASSING_STATE = re.compile(
    r"fetch first|non-fast-forward|rejected|conflict|timed? ?out|already (?:exists|in use|claimed)",
    re.I,
)
_NO_MATCHES = re.compile(r"no matches found")

LineKind = Literal["verify", "trap", "rule", "fact", "open"]


class EarlierSession(msgspec.Struct, frozen=True):
    """A session of the project as the briefing needs it."""

    id: int
    at: int
    branch: str | None
    roots: tuple[str, ...]
    """Directories of the project: paths are shown from there."""
    digest: Digest


class EventReference(msgspec.Struct, frozen=True):
    """An event that a line rests on."""

    session: int
    seq: int


class BriefingLine(msgspec.Struct, frozen=True):
    """One line, and what it rests on."""

    kind: LineKind
    text: str
    evidence: tuple[EventReference, ...]


def briefing(sessions: Sequence[EarlierSession], known_text: str = "") -> list[BriefingLine]:
    """The lines in order of value; `sessions` newest first, without sub-agents.

    `known_text` is what the agent reads anyway, such as CLAUDE.md: nothing in it is told again.
    """
    lines = [
        *_verify(sessions[:RECENT], known_text),
        *_traps(sessions[:RECENT], known_text),
        *_rules(sessions, known_text),
        *_facts(sessions[:RECENT]),
        *_left_open(sessions[:1]),
    ]
    return list(_fitting(lines))


def briefing_of(store: SessionReader, project: Project, known_text: str = "") -> list[BriefingLine]:
    """The briefing of a project in a store."""
    query = SessionQuery(project=project.key, include_subagents=False, limit=MAX_SESSIONS)
    roots = tuple(root for root in (project.root, *project.aliases) if root)
    sessions: list[EarlierSession] = []
    for session in store.sessions(query):
        digest = store.digest(session.id)
        if digest is not None and session.source_kind != "internal":
            at = session.ended_at or session.started_at or 0
            sessions.append(EarlierSession(session.id, at, session.branch, roots, digest))
    return briefing(sorted(sessions, key=lambda session: -session.at), known_text)


def read_instructions(root: str, names: Iterable[str]) -> str:
    """What agents read in this repository anyway; a file that cannot be read says nothing."""
    texts: list[str] = []
    for name in names:
        with contextlib.suppress(OSError):
            texts.append(
                read_plain(os.path.join(root, name), _READ_BYTES).decode("utf-8", "replace")
            )
    return "\n".join(texts)


def _fitting(lines: Iterable[BriefingLine]) -> Iterator[BriefingLine]:
    room = MAX_CHARS
    for line in lines:
        if FORGOTTEN in line.text:  # with its point gone, it would only mislead
            continue
        room -= len(line.text) + 3
        if room >= 0:
            yield line


class _CheckSeen(msgspec.Struct):
    """How one check fared over the sessions, the newest first."""

    kind: CheckKind
    command: str
    shown: str
    passed: list[EventReference]
    failed: int = 0
    newest_passed: bool = False

    @property
    def sessions(self) -> int:
        """How many sessions passed it."""
        return len({reference.session for reference in self.passed})


def _verify(sessions: Sequence[EarlierSession], known_text: str) -> list[BriefingLine]:
    """One line: the checks that sessions here pass, one of each kind, the most used first."""
    seen: dict[str, _CheckSeen] = {}
    for number, session in enumerate(sessions):
        for shown, (kind, command, seq, passed) in _last_runs(session).items():
            check = seen.get(shown)
            if check is None:
                if number >= NEWEST:
                    continue
                check = seen[shown] = _CheckSeen(kind, command, shown, [], newest_passed=passed)
            if passed:
                check.passed.append(EventReference(session.id, seq))
            else:
                check.failed += 1
    _join_directories(seen)
    least = 2 if len(sessions) > _FEW else 1
    usable = [
        check
        for check in seen.values()
        if check.newest_passed and check.sessions >= max(least, check.failed * 2)
    ]
    best: dict[CheckKind, _CheckSeen] = {}
    for check in sorted(usable, key=lambda check: -check.sessions):
        best.setdefault(check.kind, check)
    told = [check for check in best.values() if check.command not in known_text]
    if not told:
        return []
    shown = ", ".join(check.shown for check in told)
    times = told[0].sessions
    plural = "session" if times == 1 else "sessions"
    first = "it" if len(told) == 1 else "the first"
    text = f"Verify with {shown} ({first} passed in {times} {plural})"
    return [BriefingLine("verify", text, tuple(check.passed[0] for check in told))]


def _join_directories(seen: dict[str, _CheckSeen]) -> None:
    """A check without a directory, where another session changed to one first, is that check."""
    for check in list(seen.values()):
        bare = seen.get(f"`{check.command}`")
        if bare is not None and bare is not check:
            check.passed += bare.passed
            check.failed += bare.failed
            del seen[bare.shown]


def _last_runs(session: EarlierSession) -> Mapping[str, tuple[CheckKind, str, int, bool]]:
    """The last result of every check of a session: kind, command as typed, event, passed."""
    runs: dict[str, tuple[CheckKind, str, int, bool]] = {}
    for run in session.digest.commands:
        if not run.is_check or run.denied:
            continue
        directory = directory_of(run.command, session.roots)
        for part in typed_command(run.command).split(" && "):
            command = typed_command(part)
            check = check_of(command)
            if check is not None and is_project_wide(command) and FORGOTTEN not in command:
                shown = f"`{command}` in `{directory}`" if directory else f"`{command}`"
                runs[shown] = (check.kinds[0], command, run.seq, not run.is_error)
    return runs


def _traps(sessions: Sequence[EarlierSession], known_text: str) -> list[BriefingLine]:
    """Calls that fail here and what works instead, those of most sessions first."""
    by_error: dict[str, list[tuple[EarlierSession, Cure]]] = {}
    for session in sessions:
        for cure in session.digest.cures:
            if _is_trap(cure):
                by_error.setdefault(_trap_key(cure), []).append((session, cure))
    groups = sorted(by_error.values(), key=lambda group: -len({s.id for s, _ in group}))
    newest = {session.id for session in sessions[:NEWEST]}
    lines = [_trap(group, newest) for group in groups]
    told = [line for line in lines if line is not None and not _is_known(line, known_text)]
    return told[:MAX_TRAPS]


def _is_trap(cure: Cure) -> bool:
    """A call that can fail again, and not a finding that an edit settled."""
    if cure.kind == "edit" or _EDITORS.match(cure.failed):
        return False
    return bool(cure.sample)


def _trap_key(cure: Cure) -> str:
    if _NO_MATCHES.search(cure.sample):
        return "no matches found"  # the shell's quoting, whatever the words
    if any(map(FIXES.search, cure.steps[-1].split())):
        return typed_command(cure.failed)  # whatever the check found
    return cure.error or cure.failed


def _trap(group: Sequence[tuple[EarlierSession, Cure]], newest: set[int]) -> BriefingLine | None:
    """A trap that several sessions met, or one of the newest in the project's own tools."""
    met = len({session.id for session, _ in group})
    session, cure = min(group, key=lambda each: len(each[1].failed))
    failed, works = typed_command(cure.failed), typed_command(cure.steps[-1])
    if met < 2 and (group[0][0].id not in newest or not _is_lasting(cure, failed)):
        return None
    if _NO_MATCHES.search(cure.sample):
        text = "The shell is zsh: quote arguments that contain ?, *, [ or ]"
    elif failed == works or max(len(failed), len(works)) > _COMMAND_CHARS:
        return None
    else:
        directory = directory_of(cure.steps[-1], session.roots)
        text = _trap_text(cure, failed, f"`{works}`" + (f" in `{directory}`" if directory else ""))
    count = f" ({met} sessions)" if met > 1 else ""
    evidence = tuple(EventReference(each.id, known.error_seq) for each, known in group)
    return BriefingLine("trap", text + count, evidence)


def _is_lasting(cure: Cure, failed: str) -> bool:
    """Not a state that passes by itself, and not the usage of a tool that is not the project's."""
    program = failed.split()[0] if failed else ""
    return not _PASSING_STATE.search(cure.sample) and program not in _OTHERS_TOOLS


def _trap_text(cure: Cure, failed: str, works: str) -> str:
    error = " ".join(cure.sample.split())[:_ERROR_CHARS]
    if any(map(FIXES.search, cure.steps[-1].split())):
        return f"What `{failed}` finds, {works} mends"
    if cure.kind == "install":
        return f"In a fresh checkout run {works} before `{failed}` (else: {error})"
    return f"`{failed}` fails here ({error}); use {works}"


def _is_known(line: BriefingLine, known_text: str) -> bool:
    codes = re.findall(r"`([^`]+)`", line.text)
    return bool(codes) and codes[-1] in known_text


def _rules(sessions: Sequence[EarlierSession], known_text: str) -> list[BriefingLine]:
    """What the user asked for in several sessions; said once, it was mostly about one task."""
    rules = standing_rules({s.id: s.digest.rules for s in sessions if s.digest.rules})
    told = [
        rule
        for rule in rules
        if rule.sure == "repeated" and (rule.intent or reads_as_rule(rule.text))
    ]
    return [_rule(rule) for rule in told[:MAX_RULES] if rule.text not in known_text]


def _rule(rule: StandingRule) -> BriefingLine:
    """An intent is told by its name; its quote only where it says by itself what to do."""
    quote = " ".join(rule.text.split())[:_QUOTE_CHARS]
    quoted = f'"{quote}"' if not rule.intent or reads_as_rule(rule.text) else ""
    wish = ": ".join(part for part in (rule.intent, quoted) if part)
    when = f"{rule.sessions} sessions, last {(iso(rule.last_at) or '')[:10]}"
    evidence = tuple(EventReference(e.session, e.seq) for e in rule.evidence)
    return BriefingLine("rule", f"The user wants: {wish} ({when})", evidence)


def _facts(sessions: Sequence[EarlierSession]) -> list[BriefingLine]:
    """What git and servers said of this repository: a rule of its host once, a habit twice."""
    notices: dict[tuple[NoticeKind, str], list[EventReference]] = {}
    for session in sessions:
        for notice in session.digest.notices:
            reference = EventReference(session.id, notice.seq)
            notices.setdefault((notice.kind, notice.subject), []).append(reference)
    lines: list[BriefingLine] = []
    for (kind, subject), evidence in notices.items():
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


def _left_open(newest: Sequence[EarlierSession]) -> list[BriefingLine]:
    """Where the last session broke off; what older ones left is mostly done by now."""
    for session in newest:
        digest = session.digest
        if digest.ended != "cut off" or digest.task != "work" or not digest.commands:
            continue
        last = digest.commands[-1]
        day = (iso(session.at) or "")[:10]
        branch = f" on branch {session.branch}" if session.branch else ""
        command = typed_command(last.command)[:_COMMAND_CHARS]
        text = f"The last session ({day}) broke off{branch}, last with `{command}`: check its state"
        return [BriefingLine("open", text, (EventReference(session.id, last.seq),))]
    return []
