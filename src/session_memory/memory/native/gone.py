"""Statements that name a file or a script that is gone, or a command that fails every time here."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from session_memory.core.commands import normalized, words
from session_memory.core.typed_commands import typed_command
from session_memory.distil.checks import check_of
from session_memory.memory.known_session import KnownSession
from session_memory.memory.native.statements import Statement
from session_memory.memory.stale import RUNNERS, Lookup, is_gone
from session_memory.memory.traps import find_traps

MAX_ENTRIES = 20_000
"""A larger tree is not searched: then a file that was not seen does not count as gone."""
_SPAN = re.compile(r"`([^`\n]{2,200})`")
_FILE = re.compile(r"(?:[\w.@+-]+/)+[\w.@+-]+\.[A-Za-z][A-Za-z0-9]{0,5}")
_BUILT = words(
    "dist build out target coverage node_modules tmp temp generated vendor bin obj .git .cache"
    " .venv venv __pycache__ logs .next .turbo path your-project"
)
_UNSURE = re.compile(
    r"\b(?:never|don'?t|do not|avoid|no longer|not|no|removed?|deleted?|deprecated|creat\w+"
    r"|generat\w+|outputs?|written|writes?|produc\w+|e\.?g|examples?|such as|like|would|will|new"
    r"|if|optional\w*|may|might|instead of|rather than|renamed?|was|were|used to|old|legacy|todo"
    r"|plan\w*|similar|copy|copied|template|format|pattern|named?)\b",
    re.I,
)
_ELSEWHERE = re.compile(r"\bcd\b|--prefix|--filter|--workspace|--cwd| -[CFw]\b")
_FAILS = re.compile(r"^`([^`]+)` fails here .*?; use `([^`]+)`")
_LEAST_SESSIONS = 2


class Stale(msgspec.Struct, frozen=True):
    """A statement that no longer holds."""

    statement: Statement
    names: str
    """What it names."""
    why: str
    instead: str = ""
    """Its replacement, where that is certain."""


class Tree(msgspec.Struct, frozen=True):
    """The files of a project, as far as they show whether a path is gone."""

    paths: frozenset[str]
    folders: frozenset[str]
    """Of the top."""
    ignored: frozenset[str] = frozenset()

    def lacks(self, path: str) -> bool:
        """Whether a path is certainly not there: nowhere in the tree, though its folder is."""
        parts = path.split("/")
        if parts[0] not in self.folders or not self.ignored.isdisjoint(parts):
            return False
        end = f"/{path}"
        return path not in self.paths and not any(each.endswith(end) for each in self.paths)

    def moved(self, path: str) -> str:
        """The one file of the same name, or ""."""
        name = path.rpartition("/")[2]
        same = [each for each in self.paths if each.rpartition("/")[2] == name]
        return same[0] if len(same) == 1 else ""


def read_tree(root: str) -> Tree | None:
    """The files below a root; None where there are too many or none can be seen."""
    paths: set[str] = set()
    ignored = _BUILT | _ignored(root)
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in ignored]
        inside = os.path.relpath(folder, root).replace(os.sep, "/")
        base = "" if inside == "." else f"{inside}/"
        paths.update(base + name for name in files)
        if len(paths) > MAX_ENTRIES:
            return None
    top = frozenset(path.partition("/")[0] for path in paths if "/" in path)
    return Tree(frozenset(paths), top, frozenset(ignored)) if paths else None


def _ignored(root: str) -> frozenset[str]:
    """Plain names in `.gitignore`: what is built or private comes and goes."""
    try:
        with open(os.path.join(root, ".gitignore"), encoding="utf-8", errors="replace") as file:
            lines = file.read(64 * 1024).splitlines()
    except OSError:
        return frozenset()
    names = (line.strip().strip("/") for line in lines if not line.startswith("#"))
    return frozenset(part for name in names for part in name.split("/") if part and "*" not in part)


class Scripts:
    """A lookup that answers for scripts alone: a program may be missing on this machine only."""

    def __init__(self, tree: Lookup) -> None:
        self._tree = tree

    def has_path(self, path: str) -> bool | None:
        """None: unknown."""
        return None

    def has_program(self, program: str) -> bool | None:
        """None: unknown."""
        return None

    def has_script(self, runner: str, script: str) -> bool | None:
        """Whether it is declared."""
        return self._tree.has_script(runner, script)


def stale(
    statements: Sequence[Statement],
    tree: Tree | None,
    lookup: Lookup,
    sessions: Sequence[KnownSession],
) -> Iterator[Stale]:
    """Every statement of a project's own files that no longer holds."""
    cured, failing = _cured(sessions), _failing(sessions)
    scripts = Scripts(lookup)
    for statement in statements:
        if statement.file.scope != "project" or _UNSURE.search(statement.text):
            continue
        for span in [statement.text] if statement.is_code else _SPAN.findall(statement.text):
            if (finding := _gone(statement, span, tree, scripts)) or (
                finding := _failed(statement, span, cured, failing)
            ):
                yield finding
                break


def _gone(statement: Statement, span: str, tree: Tree | None, scripts: Scripts) -> Stale | None:
    if not statement.is_code and _FILE.fullmatch(span):
        if tree is not None and tree.lacks(span):
            return Stale(statement, span, "there is no such file", tree.moved(span))
        return None
    program = span.partition(" ")[0]
    if program in RUNNERS and not _ELSEWHERE.search(span) and is_gone(span, scripts):
        return Stale(statement, span, "no such script or target is declared")
    return None


def _cured(sessions: Sequence[KnownSession]) -> dict[str, tuple[str, str]]:
    """Commands that fail here, with what works instead and the line that says so."""
    cures: dict[str, tuple[str, str]] = {}
    for trap in find_traps(sessions).included:
        match = _FAILS.match(trap.text)
        if match is not None:
            cures[normalized(match[1])] = (match[2], trap.text)
    return cures


def _failing(sessions: Sequence[KnownSession]) -> dict[str, int]:
    """Commands that failed in every session that ran them, in at least two.

    Not checks: those fail because of the code, and are right to.
    """
    failed: dict[str, set[int]] = {}
    worked: set[str] = set()
    for session in sessions:
        for run in session.digest.commands:
            name = normalized(typed_command(run.command))
            if run.denied or not name or check_of(run.command) is not None:
                continue
            if run.is_error and run.exit not in (None, 1, 130):
                failed.setdefault(name, set()).add(session.id)
            else:
                worked.add(name)
    return {
        name: len(ids)
        for name, ids in failed.items()
        if name not in worked and len(ids) >= _LEAST_SESSIONS
    }


def _failed(
    statement: Statement,
    span: str,
    cured: Mapping[str, tuple[str, str]],
    failing: Mapping[str, int],
) -> Stale | None:
    name = normalized(typed_command(span))
    if name in cured:
        works, line = cured[name]
        return Stale(statement, span, line, works if "`" not in works else "")
    if " " in name and name in failing:
        return Stale(statement, span, f"it failed in all {failing[name]} sessions that ran it")
    return None
