"""What a session loses when its agent compacts, which its successor needs.

Made by rules from the digest and the events of one session, in the order of value: what the user
asked for and ruled, decisions, the state of files and checks, what failed and what cured it, what
is open. Nothing is guessed: a line stands for something the log shows.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from session_memory.core.commands import changes_files, normalized
from session_memory.core.digest import THEN
from session_memory.core.forget import FORGOTTEN
from session_memory.core.schema import Digest, SessionEvent
from session_memory.core.text.masks import excerpt
from session_memory.core.text.own_text import (
    PACK_BEGIN,
    PACK_END,
    without_own_text,
    without_pack_marks,
)
from session_memory.core.text.safe_text import fence, one_line
from session_memory.core.text.similarity import untagged
from session_memory.core.typed_commands import short_path, typed_command
from session_memory.distil.checks import check_of
from session_memory.distil.lasting import is_for_now, teaches
from session_memory.distil.prompts import is_internal_prompt, is_request, objective_of
from session_memory.distil.rules import standing_rules
from session_memory.distil.substance import own_terms, stands_alone, typed
from session_memory.memory.orders import is_order, is_plain_name
from session_memory.memory.rule_trace import can_be_named, cure_text
from session_memory.memory.wording import code, gist

LineKind = Literal["asked", "rule", "decision", "file", "check", "cure", "branch", "open", "answer"]

FENCE = "recovery"
AFTER_COMPACTION = (
    "You compacted this session. Its log shows this in addition to your summary;"
    " check it before you rely on it."
)
_REQUEST_CHARS = 240
_RULE_CHARS = 200
_COMMAND_CHARS = 120
_MAX_RULES, _MAX_DECISIONS, _MAX_CURES, _MAX_OPEN, _MAX_FILES = 4, 3, 3, 5, 8
MAX_CHARS = 1_800
"""Limit for the whole text after a compaction: under 600 tokens even for dense code."""
_SAID_SHARE = 0.8
_STATES: tuple[LineKind, ...] = ("check", "file", "branch")
"""Their first words count as well: a summary may name a check and not that it passed."""
_SUMMARY_LABELS = frozenset(("compact_summary", "compacted", "compress", "chat_compression"))
_OUTSIDE = re.compile(r"^(?:[/~]|[A-Za-z]:|\.\./)|(?:^|/)(?:node_modules|\.git)/")
_TERM = re.compile(r"\w+(?:[./:@#-]+\w+)*")


class Request(msgspec.Struct, frozen=True):
    """Words of the user that ask for something."""

    seq: int
    text: str


class SessionFacts(msgspec.Struct, frozen=True):
    """What lines are made of: the digest, and facts that only the events have."""

    digest: Digest
    requests: tuple[Request, ...] = ()
    edits: tuple[tuple[int, str], ...] = ()
    """(seq, path) of every edit that worked, in order."""
    roots: tuple[str, ...] = ()
    summary: str = ""
    """What the agent itself kept at its last compaction, where its log has it."""


class RecoveryLine(msgspec.Struct, frozen=True):
    """One line, and the event that shows it."""

    kind: LineKind
    text: str
    seq: int = 0


def facts_of(
    digest: Digest,
    events: Iterable[SessionEvent],
    text_of: Callable[[SessionEvent], str],
    roots: Sequence[str] = (),
) -> SessionFacts:
    """Read the events of a session once; texts are asked for where they are needed only."""
    requests: list[Request] = []
    edits: dict[str, tuple[int, tuple[str, ...]]] = {}
    failed: set[str] = set()
    summary = ""
    for event in events:
        if event.inherited:
            continue
        if event.kind == "user_prompt":
            words = without_own_text(typed(text_of(event)))
            if is_request(words) and not is_internal_prompt(words):
                requests.append(Request(event.seq, words))
        elif event.kind == "tool_call" and event.tool_class == "edit" and event.files:
            edits[event.call_id or f"#{event.seq}"] = (event.seq, event.files)
        elif event.kind == "tool_result" and event.is_error and event.call_id:
            failed.add(event.call_id)
        elif event.kind == "compaction" or event.label in _SUMMARY_LABELS:
            text = text_of(event)
            summary = text if event.kind != "compaction" or len(text) > len(summary) else summary
    worked = (made for call, made in edits.items() if call not in failed)
    return SessionFacts(
        digest,
        tuple(requests),
        tuple((seq, path) for seq, paths in worked for path in paths),
        tuple(roots),
        summary,
    )


def recovery_lines(facts: SessionFacts) -> list[RecoveryLine]:
    """Every useful line, the most valuable first, without what the summary says."""
    requests = list(_requests(facts))
    quoted = " ".join(line.text for line in requests)
    lines = [
        *requests,
        *(line for line in _rules(facts.digest) if _quote_in(line.text) not in quoted),
        *_decisions(facts.digest),
        *_checks(facts),
        *_files(facts),
        *_cures(facts),
        *_open(facts.digest),
        *_branch(facts.digest),
    ]
    remembered = [line for line in lines if FORGOTTEN not in line.text]
    return [line for line in remembered if not is_said(line, facts.summary)]


def recovery_text(lines: Sequence[RecoveryLine], head: str, limit: int, what: str = FENCE) -> str:
    """The lines that fit, fenced as data under a name; "" where there is none.

    The same lines give the same text.
    """
    items = [f"- {without_pack_marks(one_line(line.text))}" for line in lines]
    marker = hashlib.sha256("\n".join(items).encode()).hexdigest()[:12]
    room = limit - len(_packed("", head, marker, what))
    fitting: list[str] = []
    for line in items:
        room -= len(line) + 1
        if room < 0:
            break
        fitting.append(line)
    return _packed("\n".join(fitting), head, marker, what) if fitting else ""


def _packed(text: str, head: str, marker: str, what: str) -> str:
    return f"{PACK_BEGIN}>\n{head}\n{fence(text, marker, what)}\n{PACK_END}"


def is_said(line: RecoveryLine, summary: str) -> bool:
    """Whether a summary says what a line says: it has nearly all of its significant words."""
    if not summary:
        return False
    words = line.text if line.kind in _STATES else line.text.partition(": ")[2]
    terms = own_terms(untagged(words))
    if not terms:
        return True
    summary_terms = {term.lower() for term in _TERM.findall(summary)} | own_terms(summary)
    return sum(term in summary_terms for term in terms) >= _SAID_SHARE * len(terms)


def _requests(facts: SessionFacts) -> Iterator[RecoveryLine]:
    """What the session is about, and what the user asked for last, where that stands alone."""
    first, _, main = (facts.digest.objective or "").partition(THEN)
    seq = facts.requests[0].seq if facts.requests else 0
    for words, lead in ((first, "The user asked"), (main, "Then")):
        if words:
            yield RecoveryLine("asked", f"{lead}: {_quoted(words, _REQUEST_CHARS)}", seq)
    telling = [request for request in facts.requests if stands_alone(request.text)]
    last = telling[-1] if telling else None
    if last is not None and not any(_same(last.text, words) for words in (first, main)):
        words = objective_of(last.text, _REQUEST_CHARS)
        lead = "The user's last request" if last is facts.requests[-1] else "A later request"
        yield RecoveryLine("asked", f"{lead}: {_quoted(words, _REQUEST_CHARS)}", last.seq)


def _same(text: str, other: str) -> bool:
    return one_line(objective_of(text, 60))[:40] in one_line(other)


def _quoted(text: str, limit: int) -> str:
    return '"' + one_line(excerpt(text, limit)).replace('"', "'") + '"'


def _quote_in(line: str) -> str:
    return line.partition('"')[2].rstrip('"')


def _rules(digest: Digest) -> Iterator[RecoveryLine]:
    """What the user ruled in this session and did not take back.

    "Let's discuss first" is over when the discussion is; after a refusal it is a rule.
    """
    rules = [
        rule
        for rule in standing_rules({0: digest.rules})
        if rule.intent is None or "refusal" in rule.why or not is_for_now(rule.text)
    ]
    rules.sort(key=lambda rule: rule.evidence[-1].seq)
    for rule in rules[-_MAX_RULES:]:
        text = f"The user wants: {_quoted(rule.text, _RULE_CHARS)}"
        yield RecoveryLine("rule", text, rule.evidence[-1].seq)


def _decisions(digest: Digest) -> Iterator[RecoveryLine]:
    gists = [gist(text, _RULE_CHARS) for text in digest.decisions]
    for text in [text for text in gists if text and not is_order(text)][-_MAX_DECISIONS:]:
        yield RecoveryLine("decision", f"Decided: {text}")


def _last_edit(facts: SessionFacts) -> int:
    return max((seq for seq, _ in facts.edits), default=-1)


def _checks(facts: SessionFacts) -> Iterator[RecoveryLine]:
    """The last check that passed, unless it has failed since, and checks whose last run failed."""
    runs = [
        (" ".join(normalized(run.command).split()), run)
        for run in facts.digest.commands
        if run.is_check
        and not run.denied
        and not changes_files(run.command)
        and len(typed_command(run.command)) <= _COMMAND_CHARS
    ]
    last = {name: run for name, run in runs if name}
    passed = [(name, run) for name, run in runs if name and not run.is_error][-1:]
    for name, run in passed:
        if last[name].is_error or not _is_own_exit(run.command):
            continue
        changed = "; files were edited since" if run.seq < _last_edit(facts) else ""
        text = f"Last check that passed: {code(typed_command(run.command))}{changed}"
        yield RecoveryLine("check", text, run.seq)
    newest = passed[0][1].seq if passed else -1
    failed = [run for run in last.values() if run.is_error and run.seq > newest]
    for run in sorted(failed, key=lambda run: run.seq)[-2:]:
        text = f"Failed when last run: {code(typed_command(run.command))}"
        yield RecoveryLine("check", text, run.seq)


def _is_own_exit(command: str) -> bool:
    """Whether the end of a check is its own: behind a pipe it is that of `tail`."""
    check = check_of(command)
    return check is not None and check.exit_tells


def _files(facts: SessionFacts) -> Iterator[RecoveryLine]:
    """Files of the project that were edited, newest first, as the last commit left them."""
    state = facts.digest.git
    committed = state.committed_seq if state is not None and state.commit else -1
    latest: dict[str, int] = {}
    for seq, path in facts.edits:
        short = short_path(path, facts.roots)
        if not _OUTSIDE.search(short) and is_plain_name(short):
            latest[short] = seq
    open_files = sorted(
        (path for path in latest if latest[path] > committed), key=latest.__getitem__
    )
    if not open_files:
        return
    shown = open_files[::-1][:_MAX_FILES]
    more = f" and {len(open_files) - len(shown)} more" if len(open_files) > len(shown) else ""
    since = "since the last commit seen" if committed >= 0 else "in this session"
    text = f"Edited {since}, newest first: {', '.join(map(code, shown))}{more}"
    yield RecoveryLine("file", text, latest[shown[0]])


def _cures(facts: SessionFacts) -> Iterator[RecoveryLine]:
    newest_cures: dict[str, RecoveryLine] = {}
    for cure in facts.digest.cures:
        if can_be_named(cure) and teaches(cure) and not changes_files(cure.steps[-1]):
            key = typed_command(cure.failed)
            newest_cures.pop(key, None)
            newest_cures[key] = RecoveryLine("cure", cure_text(cure, facts.roots), cure.error_seq)
    yield from list(newest_cures.values())[-_MAX_CURES:]


def _open(digest: Digest) -> Iterator[RecoveryLine]:
    for item in digest.open_items[:_MAX_OPEN]:
        text = gist(item, _RULE_CHARS)
        if text and not is_order(text):
            yield RecoveryLine("open", f"Open: {text}")


def _branch(digest: Digest) -> Iterator[RecoveryLine]:
    state = digest.git
    if state is None or not (state.branch or state.commit):
        return
    where = f"Last seen on branch {code(state.branch)}" if state.branch else "Git"
    done = ""
    if state.commit:
        subject = "" if is_order(state.subject) else f" {_quoted(state.subject, 80)}"
        done = f"; last commit {state.commit}{subject}"
        done += ", pushed" if state.pushed else ", not pushed as far as seen"
    pr = f"; PR #{state.pull_request}" if state.pull_request else ""
    yield RecoveryLine("branch", f"{where}{done}{pr}", state.committed_seq)
