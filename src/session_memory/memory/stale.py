"""Marks statements that name files or commands which no longer exist; nothing is executed."""

from __future__ import annotations

import re
from typing import Protocol

from session_memory.core.commands import Step, steps

GONE = " (gone?)"
RUNNERS = frozenset(("npm", "pnpm", "yarn", "bun", "make", "just"))
_SPAN = re.compile(r"(?P<tick>``? ?)(?P<inside>[^`\n]{1,200}?)(?: ?``|`)")
_PATH = re.compile(r"(?:[\w.@+~-]+/)+[\w.@+~-]+|[\w@+-][\w.@+-]*\.[A-Za-z][A-Za-z0-9]{0,5}")
_FAILED = re.compile(r"\bfailed\b|\bfails\b|not found|no such", re.I)


class Lookup(Protocol):
    """What exists in a working tree; None means unknown."""

    def has_path(self, path: str) -> bool | None:
        """Whether a file or directory, relative to the project, exists."""
        ...

    def has_program(self, program: str) -> bool | None:
        """Whether a program could be started from the project."""
        ...

    def has_script(self, runner: str, script: str) -> bool | None:
        """Whether a runner such as `npm` or `make` has a script or target of that name."""
        ...


class UnknownTree:
    """A tree that is not on this machine: whether a file exists is unknown."""

    def has_path(self, path: str) -> bool | None:
        """None: unknown."""
        return None

    def has_program(self, program: str) -> bool | None:
        """None: unknown."""
        return None

    def has_script(self, runner: str, script: str) -> bool | None:
        """None: unknown."""
        return None


def mark_gone(statement: str, lookup: Lookup) -> str:
    """The statement with `(gone?)` after each path or command that no longer exists.

    In a sentence about a failure the first code span is what failed, and is not marked.
    """
    failed = _FAILED.search(statement) is not None
    first = True

    def marked(match: re.Match[str]) -> str:
        nonlocal first
        skipped, first = failed and first, False
        whole = match[0]
        if skipped or statement[match.end() :].startswith(GONE):
            return whole
        return whole + GONE if is_gone(match["inside"], lookup) else whole

    return _SPAN.sub(marked, statement)


def is_gone(span: str, lookup: Lookup) -> bool:
    """Whether a code span names something that certainly does not exist."""
    text = span.strip()
    if " " not in text and _PATH.fullmatch(text):
        return lookup.has_path(text) is False
    typed = text.split()
    for step in steps(text):
        if step.program in RUNNERS and _script_of(step) is not None:
            if lookup.has_script(step.program, _script_of(step) or "") is False:
                return True
        elif f"./{step.program}" in {word[-len(step.program) - 2 :] for word in typed}:
            path = next(word for word in typed if word.endswith(step.program))
            return lookup.has_path(path.removeprefix("./")) is False
        # A wrapper such as `uv run` can find programs that are on no PATH.
        elif typed and typed[0] == step.program and lookup.has_program(step.program) is False:
            return True
    return False


def _script_of(step: Step) -> str | None:
    """The script or target given to a runner; None for flags and paths."""
    rest = [word for word in step.words if not word.startswith("-")]
    if step.program in ("make", "just"):
        return rest[0] if len(rest) == 1 and "=" not in rest[0] else None
    if len(rest) >= 2 and rest[0] == "run" and "/" not in rest[1] and "." not in rest[1]:
        return rest[1]
    return None
