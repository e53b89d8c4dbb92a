"""What a session did, as far as the verdict on it rests on that."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

import msgspec

from session_memory.core.commands import SCAN_CHARS, Step, steps, words
from session_memory.distil.attempts import RECENT, Attempt, AttemptLog
from session_memory.distil.checks import CheckKind, bare_words, check_of
from session_memory.distil.put_right import is_wrong_call
from session_memory.regex_cache import compiled

# What makes work leave the session: a commit, a push, a request to merge, a release. Each has one
# of these words.
_SHIPS_CUES = ("commit", "push", "merge", "gh pr ", "gh workflow", "publish", "deploy", "--prod")
_SHIPS = compiled(
    r"\bgit (?:-C \S+ )?(?:commit|push|merge)\b|\bgh pr (?:create|merge)\b|\bgh workflow run\b"
    r"|\b(?:npm|pnpm|cargo|twine|poetry|uv) publish\b|\b(?:vercel|fly|netlify)\b.*(?:deploy|--prod)"
)
_NOTES = compiled(r"\.(?:md|mdx|txt|rst|adoc)$", re.I)
_AGENTS_OWN = compiled(r"[\\/]\.(?:claude|codex|gemini|qwen|grok|copilot|pi)[\\/]")


_CHANGING_PROGRAMS = words("rm mv cp touch chmod chown ln kill pkill killall rsync scp unzip")
_CHANGING_VERBS = words(
    "add alias apply checkout cherry-pick close commit create delete deploy disable edit enable"
    " install link merge publish pull push rebase release remove rename reset restart restore"
    " revert rm set start stop switch tag uninstall update upgrade worktree"
)
_CHANGING = frozenset(bare_words(name)[0] for name in _CHANGING_PROGRAMS | _CHANGING_VERBS)
_SHELL_WORDS = words("do then else")  # a program may follow them


class CheckResult(msgspec.Struct, frozen=True):
    """The last result of one kind of verification."""

    pos: int
    kind: CheckKind
    passed: bool
    command: str
    exit: int | None = None


class Work(msgspec.Struct, frozen=True):
    """Places in the order of the log; -1 where there was none."""

    first_edit: int = -1
    last_edit: int = -1
    last_code_edit: int = -1
    """Notes and plans can change after the last check without making it stale."""
    last_act: int = -1
    """A command that changed something, other than an edit or a check."""
    last_shipped: int = -1
    last_call: int = -1
    cut_off: bool = False
    """The log ends in a call without a result: agents are often ended inside a commit hook."""
    checks: tuple[CheckResult, ...] = ()
    """Last result per kind, in order; failures that were there before the first edit left out."""

    @property
    def last(self) -> int:
        """When something was last done."""
        return max(self.last_edit, self.last_act, self.last_shipped)


class Tally(msgspec.Struct):
    """What a run of calls did; taking in the next ones in order gives that of all of them."""

    first_edit: int = -1
    last_edit: int = -1
    last_code_edit: int = -1
    last_act: int = -1
    last_shipped: int = -1
    checks: dict[CheckKind, CheckResult] = {}
    failed_before: set[str] = set()
    """Checks that failed before the first edit."""

    def add(self, attempt: Attempt, cwd: str) -> None:
        if attempt.edits and is_project_edit(attempt, cwd):
            self.last_edit = attempt.pos
            self.first_edit = attempt.pos if self.first_edit < 0 else self.first_edit
            if not _is_note(attempt):
                self.last_code_edit = attempt.pos
        if attempt.command is None:
            return
        if _acts(attempt):
            self.last_act = attempt.pos
        if ships(attempt):
            self.last_shipped = attempt.pos
        self._check(attempt, attempt.command)

    def _check(self, attempt: Attempt, command: str) -> None:
        if attempt.denied or attempt.result_pos is None:
            return
        check = check_of(command)
        if check is None or (attempt.failed and is_wrong_call(attempt)):
            return  # a call that was wrong verified nothing
        if attempt.failed and self.first_edit < 0:
            self.failed_before.add(command)
        shown = attempt.exit if check.exit_tells else None
        for kind in check.kinds:
            self.checks[kind] = CheckResult(attempt.pos, kind, not attempt.failed, command, shown)

    def and_then(self, attempts: Sequence[Attempt], cwd: str) -> Work:
        """The work of these calls and of the ones that follow them."""
        whole = Tally(*msgspec.structs.astuple(self))
        whole.checks, whole.failed_before = dict(self.checks), set(self.failed_before)
        for attempt in attempts:
            if attempt.edits or attempt.command is not None:  # any other only looks
                whole.add(attempt, cwd)
        own = (
            result
            for result in whole.checks.values()
            if result.passed or whole.first_edit < 0 or result.command not in whole.failed_before
        )
        return Work(
            first_edit=whole.first_edit,
            last_edit=whole.last_edit,
            last_code_edit=whole.last_code_edit,
            last_act=whole.last_act,
            last_shipped=whole.last_shipped,
            last_call=attempts[-1].pos if attempts else -1,
            cut_off=bool(attempts) and attempts[-1].result_pos is None,
            checks=tuple(sorted(own, key=lambda result: result.pos)),
        )


def work_of(attempts: Sequence[Attempt], cwd: str) -> Work:
    """Everything these calls did, in one pass."""
    return Tally().and_then(attempts, cwd)


class WorkLog:
    """What the calls of a session did so far; those long past are looked at once."""

    def __init__(self) -> None:
        self._settled = Tally()
        self._of: tuple[str, int, int] = ("", 0, 0)
        """The directory it was tallied for, and what the calls said of themselves then."""
        self._pos = 0
        """Calls up to this place are in it."""

    def all(self, calls: AttemptLog, cwd: str) -> Work:
        """The work of all calls."""
        attempts = calls.attempts
        if self._of != (cwd, calls.late, calls.dropped):
            self._of, self._pos = (cwd, calls.late, calls.dropped), 0
            self._settled = Tally()
        settled = max(0, len(attempts) - RECENT)
        for attempt in attempts[bisect_right(attempts, self._pos, key=_place) : settled]:
            self._settled.add(attempt, cwd)
            self._pos = attempt.pos
        return self._settled.and_then(attempts[settled:], cwd)


def _place(attempt: Attempt) -> int:
    return attempt.pos


def is_project_edit(attempt: Attempt, cwd: str) -> bool:
    """An edit of the project: not of an agent's own notes, not in another corner of the disk."""
    if not attempt.edits or not attempt.worked:
        return False
    return not attempt.files or not all(_is_elsewhere(path, cwd) for path in attempt.files)


def _is_elsewhere(path: str, cwd: str) -> bool:
    if ("/." in path or "\\." in path) and _AGENTS_OWN.search(path):
        return True
    # Worktrees usually stand next to the repository.
    return path.startswith("/") and bool(cwd) and not path.startswith(cwd.rpartition("/")[0] + "/")


def _is_note(attempt: Attempt) -> bool:
    return bool(attempt.files) and all(_NOTES.search(path) for path in attempt.files)


def _acts(attempt: Attempt) -> bool:
    """Whether a command changed something, by its program or verb; unknown tools mostly look."""
    command = attempt.command
    if command is None or attempt.edits or not attempt.worked or check_of(command) is not None:
        return False
    return _changes_anything(command)


@lru_cache(maxsize=2048)  # a turn and its session look at the same commands
def _changes_anything(command: str) -> bool:
    if _CHANGING.isdisjoint(bare_words(command[:SCAN_CHARS])):  # spares most the taking apart
        return False
    return any(map(_changes_something, steps(command)))


def _changes_something(step: Step) -> bool:
    if "--help" in step.words:
        return False
    inside = step.program in _SHELL_WORDS and bool(step.words)
    if (step.words[0] if inside else step.program) in _CHANGING_PROGRAMS:
        return True
    if step.program == "xargs":
        return not _CHANGING_PROGRAMS.isdisjoint(step.words)
    plain = [word for word in step.words if not word.startswith("-")]
    return not _CHANGING_VERBS.isdisjoint(plain[:3])


def ships(attempt: Attempt) -> bool:
    """Shipped, or on the way when the log ends."""
    if attempt.command is None or attempt.failed or attempt.denied:
        return False
    return _is_shipping(attempt.command)


@lru_cache(maxsize=2048)
def _is_shipping(command: str) -> bool:
    may_ship = any(map(command.__contains__, _SHIPS_CUES))
    return may_ship and _SHIPS.search(command) is not None
