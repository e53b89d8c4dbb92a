"""What digests prove of a scope: how to verify, traps with what works, and where work stopped.

Every line is read from what commands printed, not from what anybody claimed, and has its date.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from session_memory.clock import iso
from session_memory.core.forget import FORGOTTEN
from session_memory.core.schema import Digest, GitState
from session_memory.core.text.masks import excerpt
from session_memory.core.typed_commands import typed_command
from session_memory.distil.git_state import MAIN_BRANCHES
from session_memory.distil.inputs import nods
from session_memory.distil.project_checks import is_project_wide
from session_memory.distil.prompts import is_request
from session_memory.memory.briefing import RECENT, BriefingLine, briefing
from session_memory.memory.known_session import KnownSession
from session_memory.recall.scope import Scope
from session_memory.store.port import RecallStore

_COMMAND_CHARS = 100
_WORDS_CHARS = 140
_OBJECTIVE_CHARS = 220
_MAX_FILES = 4
_REQUEST_WORDS = 12
"""Shorter words at the end of a session go on with what it was asked for, or correct it."""
_ABSOLUTE = re.compile(r"/|[A-Za-z]:/")


class PackFacts(msgspec.Struct, frozen=True):
    """The lines of the sections that digests fill."""

    verify: tuple[str, ...] = ()
    traps: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    """What the user wants, said in several sessions."""
    unjudged: frozenset[int] = frozenset()
    """Sessions whose digest has no rules that could be judged with those of the others."""
    resume: tuple[str, ...] = ()
    """Where the last session that did some work stopped."""
    open_request: str = ""
    """What the latest session was asked for, where it did not finish; with its date."""
    finished: frozenset[int] = frozenset()
    """Sessions that did what they were asked for, or that others followed: what they were asked
    for is no objective any more."""


def read_facts(store: RecallStore, scope: Scope) -> PackFacts:
    """The facts of the latest sessions of a scope."""
    roots = tuple(root for root in (scope.project.root, *scope.project.aliases) if root)
    sessions: list[KnownSession] = []
    for line in scope.lines[:RECENT]:
        digest = store.digest(line.id)
        if digest is not None:
            at = line.ended_at or line.started_at or 0
            session = store.session(line.id)
            sessions.append(
                KnownSession(line.id, session.external_id, at, digest, roots, session.branch)
            )
    return facts_of(sorted(sessions, key=lambda session: -session.at))


def facts_of(sessions: Sequence[KnownSession]) -> PackFacts:
    """The facts of sessions, newest first."""
    briefing_lines = briefing(sessions)
    last = next((session for session in sessions if _did_work(session.digest)), None)
    finished = _finished(sessions)
    return PackFacts(
        verify=_lines(briefing_lines, "verify"),
        traps=(*_lines(briefing_lines, "trap"), *_lines(briefing_lines, "fact")),
        rules=_lines(briefing_lines, "rule"),
        unjudged=frozenset(session.id for session in sessions if not session.digest.rules),
        resume=_not_forgotten(_resume(last)) if last is not None else (),
        open_request=_open_request(session for session in sessions if session.id not in finished),
        finished=finished,
    )


def _did_work(digest: Digest) -> bool:
    return digest.task == "work" and bool(digest.commands or any(digest.files.values()))


def _open_request(unfinished: Iterable[KnownSession]) -> str:
    for session in unfinished:
        objective = _latest_request(session.digest)
        if objective and FORGOTTEN not in objective and is_request(objective):
            return f"{excerpt(objective, _OBJECTIVE_CHARS)} ({(iso(session.at) or '')[:10]})"
    return ""


def _latest_request(digest: Digest) -> str:
    """What a session was asked for; where it was asked for something else at its end, that."""
    objective, words = digest.objective or "", " ".join(digest.last_words.split())
    is_new = len(words.split()) >= _REQUEST_WORDS and words[:60] not in " ".join(objective.split())
    return words if is_new and is_request(words) else objective


def _finished(sessions: Sequence[KnownSession]) -> frozenset[int]:
    finished: set[int] = set()
    followed = False
    for session in sessions:
        if followed or _is_finished(session.digest):
            finished.add(session.id)
        followed = followed or _did_work(session.digest)
    return frozenset(finished)


def _is_finished(digest: Digest) -> bool:
    """Whether a session is finished; a question or a program's prompt counts as finished.

    What ended with an answer and was committed is finished too, where nothing says that it failed.
    """
    if digest.task != "work":
        return True
    if not _did_work(digest) or digest.ended != "finished":
        return False
    state = digest.git
    is_committed = state is not None and bool(state.commit or state.subject) and not state.stopped
    return digest.outcome == "success" or (digest.outcome == "uncertain" and is_committed)


def _lines(briefing_lines: Iterable[BriefingLine], kind: str) -> tuple[str, ...]:
    return tuple(line.text for line in briefing_lines if line.kind == kind)


def _not_forgotten(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(line for line in lines if line and FORGOTTEN not in line)


def _resume(session: KnownSession) -> list[str]:
    """Branch, last commit, PR, last passing check; of unfinished work its files and last words."""
    digest = session.digest
    day = (iso(session.at) or "")[:10]
    return [
        _branch(digest.git, session.branch, day),
        _last_check(digest),
        *(
            ()
            if _is_finished(digest)
            else (_files_in_work(digest, session.roots), _last_words(digest, day))
        ),
    ]


def _branch(git: GitState | None, branch: str | None, day: str) -> str:
    state = git or GitState()
    name = state.branch or branch
    if not name:
        return ""
    if not state.commit and not state.subject:
        return "" if name in MAIN_BRANCHES else f"Last work ({day}) on branch `{name}`"
    is_merged = state.merged and name not in MAIN_BRANCHES  # nothing is merged into itself
    where = "merged" if is_merged else "pushed" if state.pushed else "push not seen"
    request = f", PR #{state.pull_request}" if state.pull_request else ""
    subject = excerpt(state.subject, _COMMAND_CHARS)
    commit = f"{state.commit} " if state.commit else ""  # a wrapper may not print it
    return f'Last commit ({day}) on `{name}`: {commit}"{subject}", {where}{request}'


def _last_check(digest: Digest) -> str:
    checks = [run for run in digest.commands if run.is_check and not run.denied]
    passed = [run for run in checks if not run.is_error]
    if not passed or checks[-1].is_error:
        return ""  # what failed last is among the blockers, if it still does
    whole = [run for run in passed if is_project_wide(typed_command(run.command))]
    run = (whole or passed)[-1]
    command = typed_command(run.command)
    when = (iso(run.at) or "")[:16].replace("T", " ")
    return f"Passed last ({when}): `{command}`" if len(command) <= _COMMAND_CHARS else ""


def _files_in_work(digest: Digest, roots: Sequence[str]) -> str:
    """What was edited; nothing once it stands on the main branch."""
    if digest.git is not None and digest.git.merged:
        return ""
    edited = sorted(
        (path for path, count in digest.files.items() if count),
        key=lambda path: -digest.files[path],
    )
    shown = [name for path in edited if (name := _relative(path, roots))]
    more = f" and {len(shown) - _MAX_FILES} more" if len(shown) > _MAX_FILES else ""
    return f"Edited: {', '.join(shown[:_MAX_FILES])}{more}" if shown else ""


def _relative(path: str, roots: Sequence[str]) -> str:
    """The path inside the project; "" for a file elsewhere."""
    path = path.replace("\\", "/")
    if not _ABSOLUTE.match(path):
        return path
    for root in roots:
        inside = root.replace("\\", "/").rstrip("/") + "/"
        if path.startswith(inside):
            return path[len(inside) :]
    return ""


def _last_words(digest: Digest, day: str) -> str:
    words = " ".join(digest.last_words.split())
    if not words or nods(words) or _latest_request(digest).startswith(words[:60]):
        return ""
    return f'The user said last ({day}): "{excerpt(words, _WORDS_CHARS)}"'
