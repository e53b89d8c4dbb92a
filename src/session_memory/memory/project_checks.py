"""The checks of a project: which commands verify a change here, by what its sessions ran.

The project's own checks come first, one of each kind, with how many sessions passed them. A form
that checks a part only, one that other checks replaced, and one that keeps failing are left out,
each with its reason. Behind a filter such as `| grep` it is unknown whether a check passed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from session_memory.core.commands import steps, words
from session_memory.core.forget import FORGOTTEN
from session_memory.core.typed_commands import directory_of, typed_command
from session_memory.distil.checks import CheckKind, check_of
from session_memory.memory.known_session import KnownSession
from session_memory.memory.statements import Statement
from session_memory.memory.wording import code

MAX_CHECKS = 6
_PER_KIND = 2
_LEAST_FOR_PART = 3
_COMMAND_CHARS = 100
_REPLACED_AFTER = 3
"""Sessions that pass another check of the kind and no longer run this one."""
_GIVEN_UP_AFTER = 2
"""Sessions in a row in which a check fails to the end."""
_SHELL_STAYS = frozenset(("claude",))
"""Agents whose shell stays in the directory that a call changed to."""
Kind = CheckKind | Literal["format", "any"]
_NAMED: dict[Kind, str] = {
    "test": "tests",
    "build": "build",
    "lint": "lint",
    "types": "types",
    "format": "formatting",
    "any": "a change",
}
_FORMATTERS = words("black isort prettier gofmt rustfmt clang-format shfmt dprint goimports yapf")
_FORMATS = re.compile(r"(?:.*[:_-])?(?:fmt|format)(?:[:_-].*)?")
_ANY = re.compile(r"(?:checks?|verify|validate|ci|all|qa|pre-?commit)(?::all)?")
"""Names of tasks that do not say what they check."""
_RUNNERS = words("npm pnpm yarn bun make gmake just task rake gradle mvn turbo nx mise pixi poe")
_FETCHED = words("npx bunx pnpx uvx")  # they run tools that need not be the project's
_PART = re.compile(r"[/\\]|\.\w{1,5}$|::|^\d+$|[=*]")
_NARROWS = re.compile(r"^--?(?:filter|F|max-|run|k|t|grep|only|workspace|w)\b|^--[\w-]+=")
_SELECTS_PART = re.compile(r"^(?:--filter|-F|--workspace|-w|--package)(?:=|$)")
_EVERYTHING = frozenset((".", "./..."))
_CUTS_OFF = re.compile(r"\|\s*(?:grep|egrep|rg|wc|sort|awk|sed|cut|uniq)\b")
_CUTS_END = re.compile(r"\|\s*head\b")
_CD = re.compile(r"""^\s*cd\s+["']?((?:[/~]|[A-Za-z]:)[^"';&|]*)""")
_FIXES = re.compile(r"^--(?:fix|write|apply)|[:_-]fix$|^-w$")
_NO_CODE = re.compile(r"\b(?!types?|lint|format|fmt|code|style|ts|tsc|deps)\w+:check\b")


class Check(msgspec.Struct, frozen=True):
    """A check of the project as its sessions ran it, the newest first."""

    command: str
    directory: str
    kind: Kind
    is_general: bool
    """It is for the whole project: it names no file and changes none."""
    passed: tuple[tuple[KnownSession, int], ...] = ()
    """Sessions that ended with it passing, and the event."""
    failed: tuple[KnownSession, ...] = ()
    in_root: bool = False
    """A session changed to the root of the project to run it."""

    @property
    def verifies(self) -> str:
        """What it verifies, in a word."""
        return _NAMED[self.kind]

    @property
    def selects_part(self) -> bool:
        """It is for one package of several, and names it."""
        return any(map(_SELECTS_PART.search, self.command.split()[1:]))

    @property
    def sessions(self) -> int:
        """How many sessions passed it."""
        return len(self.passed)

    @property
    def last_at(self) -> int:
        """When a session last ran it."""
        return max((s.at for s in (*(s for s, _ in self.passed), *self.failed)), default=0)

    @property
    def shown(self) -> str:
        """The command, and where it is run."""
        return code(self.command) + (f" in {code(self.directory)}" if self.directory else "")

    def statement(self, note: str = "") -> Statement:
        """The line of the check."""
        session, seq = self.passed[0]
        often = "1 session" if self.sessions == 1 else f"{self.sessions} sessions, last"
        return Statement(
            f"{self.shown} verifies {self.verifies}; passed in {often} {session.day}",
            tuple(passed.thread for passed, _ in self.passed),
            (session.event(seq),),
            at=session.at,
            note=note,
            key=f"check {self.shown}",
        )


class Checks(msgspec.Struct, frozen=True):
    """The checks to include, and the others with the reason."""

    included: tuple[Check, ...] = ()
    notes: dict[str, str] = {}
    """Doubts about included checks, by the form in which they are shown."""
    left_out: tuple[Statement, ...] = ()

    @property
    def statements(self) -> tuple[Statement, ...]:
        """The lines of the included checks."""
        return tuple(check.statement(self.notes.get(check.shown, "")) for check in self.included)


def find_checks(sessions: Sequence[KnownSession]) -> Checks:
    """The checks of sessions, which are given newest first."""
    checks = _joined([check for check in _collect(sessions) if check.passed])
    included: list[Check] = []
    left_out: list[Statement] = []
    for check in sorted(checks, key=_worth):
        reason = _why_not(check, checks, included)
        if reason:
            left_out.append(check.statement(reason))
        else:
            included.append(check)
    notes = {check.shown: note for check in included if (note := _doubt(check))}
    return Checks(tuple(included), notes, tuple(left_out))


def _worth(check: Check) -> tuple[object, ...]:
    """The broadest first: the project's own tasks, then what most sessions pass."""
    runner = steps(check.command)[0].program in _RUNNERS
    return (not check.is_general, not runner, -check.sessions, -check.last_at, check.command)


def _collect(sessions: Iterable[KnownSession]) -> list[Check]:
    """Every check that was run, whatever its flags, with how it ended in each session."""
    by_key: dict[tuple[str, ...], Check] = {}
    for session in sessions:
        for key, (check, seq, passed) in _last_runs(session).items():
            merged = by_key.get(key, check)
            merged = msgspec.structs.replace(merged, in_root=merged.in_root or check.in_root)
            if passed:
                merged = msgspec.structs.replace(merged, passed=(*merged.passed, (session, seq)))
            else:
                merged = msgspec.structs.replace(merged, failed=(*merged.failed, session))
            by_key[key] = merged
    return list(by_key.values())


def _last_runs(session: KnownSession) -> dict[tuple[str, ...], tuple[Check, int, bool]]:
    """The last result of each check in a session."""
    runs: dict[tuple[str, ...], tuple[Check, int, bool]] = {}
    directory = ""
    for run in session.digest.commands:
        moves = run.command.lstrip().startswith("cd ")
        if moves or session.digest.flavor not in _SHELL_STAYS:
            directory = directory_of(run.command, session.roots)
        if not run.is_check or run.denied or _is_elsewhere(run.command, session.roots):
            continue
        parts = typed_command(run.command).split(" && ")
        for part in parts:
            command = typed_command(part)
            check = _check(command, directory, in_root=moves and not directory)
            if check is None or (run.is_error and len(parts) > 1):
                continue  # of a chain that failed, the failing part is unknown
            if not run.is_error and _hides_failure(run.command, check.kind):
                continue
            implied = _EVERYTHING if check.kind in ("lint", "format") else frozenset[str]()
            plain = (w for w in command.split() if not w.startswith("-") and w not in implied)
            runs[(directory, *plain)] = (check, run.seq, not run.is_error)
    return runs


def _hides_failure(command: str, kind: Kind) -> bool:
    """Whether a filter may have kept a failure from the log; compilers report at the top."""
    parsed = check_of(command)
    if parsed is None or parsed.exit_tells:
        return False
    whole_end = kind in ("test", "any") and _CUTS_END.search(command)
    return bool(whole_end or _CUTS_OFF.search(command))


def _is_elsewhere(command: str, roots: Sequence[str]) -> bool:
    """Whether a command changes to a directory outside of every clone of the project first."""
    moved = _CD.match(command)
    names = {name.replace("\\", "/").rstrip("/").rpartition("/")[2].lower() for name in roots}
    path = moved[1].lower().replace("\\", "/").strip() if moved else ""
    return bool(path and names) and names.isdisjoint(path.split("/"))


def _check(command: str, directory: str, *, in_root: bool) -> Check | None:
    parsed = check_of(command)
    one_step = len(steps(command)) == 1 and "\n" not in command
    if parsed is None or not one_step or len(command) > _COMMAND_CHARS or FORGOTTEN in command:
        return None
    if any(map(_FIXES.search, command.split()[1:])) or _NO_CODE.search(command):
        return None
    kind = _kind(command, parsed.kinds[0])
    return Check(command, directory, kind, _is_general(command), in_root=in_root)


def _kind(command: str, kind: CheckKind) -> Kind:
    """What a check verifies; the name of a task such as `check` does not say."""
    step = steps(command)[0]
    task = [word for word in step.words if not word.startswith("-") and word != "run"][:1]
    if step.program in _FORMATTERS or any(map(_FORMATS.fullmatch, task)):
        return "format"
    unknown = step.program in _RUNNERS and any(map(_ANY.fullmatch, task))
    return "any" if unknown else kind


def _is_general(command: str) -> bool:
    rest = command.split()[1:]
    named = [word for word in rest if not word.startswith("-") and word not in _EVERYTHING]
    return not any(map(_PART.search, named)) and not any(map(_NARROWS.search, rest))


def _joined(checks: Sequence[Check]) -> list[Check]:
    """A check that most sessions run in one directory is the same where none was named.

    The shell of some agents stays in a directory, so that later calls do not name it.
    """
    joined = list(checks)
    for check in checks:
        bare = next((o for o in joined if o.command == check.command and not o.directory), None)
        if not check.directory or bare is None or bare.sessions > check.sessions or bare.in_root:
            continue
        joined.remove(bare)
        joined[joined.index(check)] = msgspec.structs.replace(
            check,
            passed=_by_session(*check.passed, *bare.passed),
            failed=tuple(dict.fromkeys((*check.failed, *bare.failed))),
        )
    return joined


def _by_session(*passed: tuple[KnownSession, int]) -> tuple[tuple[KnownSession, int], ...]:
    first = {session.id: (session, seq) for session, seq in reversed(passed)}
    return tuple(sorted(first.values(), key=lambda each: -each[0].at))


def _why_not(check: Check, checks: Sequence[Check], included: Sequence[Check]) -> str:
    """Why a check is left out, given those already included; "" if it is not."""
    same_kind = [other for other in included if other.kind == check.kind]
    lasting = [failed for failed in check.failed if failed.at > check.passed[0][0].at]
    if len(lasting) >= _GIVEN_UP_AFTER:
        return f"it failed to the end in the last {len(lasting)} sessions that ran it"
    for other in checks:
        since = [s for s, _ in other.passed if s.at > check.last_at]
        if other.kind == check.kind and other.is_general and len(since) >= _REPLACED_AFTER:
            return f"{other.shown} took its place: {len(since)} sessions since passed only that"
    if check.directory and (other_part := _other_part(check, checks)):
        return f"the project has other parts too: {other_part.shown}"
    if check.selects_part:
        return "it is for one package of several"
    if not check.is_general and (same_kind or check.sessions < _LEAST_FOR_PART):
        return "it checks a part" + (f" of what {same_kind[0].shown} does" if same_kind else "")
    fetched = check.command.split()[0] in _FETCHED and check.sessions < _PER_KIND
    if fetched and any(steps(other.command)[0].program in _RUNNERS for other in included):
        return "one session only, and not one of the project's own tasks"
    if same_kind and (check.sessions < _PER_KIND or check.directory != same_kind[0].directory):
        return f"{same_kind[0].shown} verifies {check.verifies} too"
    if len(same_kind) >= _PER_KIND or len(included) >= MAX_CHECKS:
        return "others are used more"
    return ""


def _other_part(check: Check, checks: Sequence[Check]) -> Check | None:
    """A check of the same kind for the root, or for another part of the project."""
    for other in checks:
        if other.kind != check.kind or other is check:
            continue
        elsewhere = other.is_general and other.directory != check.directory
        if other.selects_part or (elsewhere and 2 * other.sessions >= check.sessions):
            return other
    return None


def _doubt(check: Check) -> str:
    newest = max(check.failed, key=lambda failed: failed.at, default=None)
    if newest is None or newest.at < check.passed[0][0].at:
        return ""
    return f"verify: it failed at the end of {newest.thread[:8]}, {newest.day}"
