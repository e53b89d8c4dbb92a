"""What stands in a project's directory, as far as a memory may look: names only, nothing is run."""

from __future__ import annotations

import os
import re
import shutil
from functools import cached_property
from pathlib import Path

import msgspec

from session_memory.core.commands import words
from session_memory.memory.stale import Lookup, Unknown

MAX_LOOKS = 400
"""How many names one memory looks up; behind that nothing is said to be gone."""
READ_BYTES = 256 * 1024
_BUILT_IN = words(
    "cd echo export set unset source . test [ [[ true false exit pwd read type printf eval exec"
    " alias ulimit umask wait trap for while if case until"
)
_OWN_PROGRAMS = (".venv/bin", "venv/bin", "node_modules/.bin", "vendor/bin", "bin")
_TARGET = re.compile(r"^([A-Za-z0-9][\w./-]*)[^\S\n]*(?:[\w-]+[^\S\n]*)*:(?!=)", re.M)


class _Package(msgspec.Struct, frozen=True):
    scripts: dict[str, str] = {}


def look_into(root: str) -> Lookup:
    """The tree at a place; one that is not on this machine cannot be judged."""
    return WorkingTree(root) if os.path.isabs(root) and os.path.isdir(root) else Unknown()


class WorkingTree:
    """See stale.Lookup."""

    def __init__(self, root: str) -> None:
        self._root = Path(root)
        self._left = MAX_LOOKS

    def has_path(self, path: str) -> bool | None:
        """Whether a path inside the project is there; others are none of our business."""
        self._left -= 1
        if self._left < 0 or os.path.isabs(path) or path.startswith("~"):
            return None
        if ".." in path.split("/"):
            return None
        if "/" not in path:
            # A bare name may lie anywhere below: only at the top it is sure to be there.
            return True if (self._root / path).exists() else None
        return os.path.lexists(self._root / path)

    def has_program(self, program: str) -> bool | None:
        """Whether a program is on the PATH or among the project's own."""
        self._left -= 1
        if self._left < 0 or program in _BUILT_IN or not re.fullmatch(r"[\w.+-]+", program):
            return None
        if shutil.which(program) is not None:
            return True
        return any((self._root / place / program).exists() for place in _OWN_PROGRAMS)

    def has_script(self, runner: str, script: str) -> bool | None:
        """Whether a script or target of that name is declared; without a list nobody can tell."""
        known = self._targets if runner in ("make", "just") else self._scripts
        return None if known is None else script in known

    @cached_property
    def _scripts(self) -> frozenset[str] | None:
        text = self._read("package.json")
        # In a workspace scripts are declared further down as well.
        if text is None or '"workspaces"' in text or (self._root / "pnpm-workspace.yaml").exists():
            return None
        try:
            return frozenset(msgspec.json.decode(text, type=_Package).scripts)
        except msgspec.DecodeError:
            return None

    @cached_property
    def _targets(self) -> frozenset[str] | None:
        for name in ("Makefile", "makefile", "GNUmakefile", "justfile", "Justfile"):
            text = self._read(name)
            if text is not None and not re.search(r"^\s*-?(?:include|import)\b|%", text, re.M):
                return frozenset(_TARGET.findall(text))
        return None

    def _read(self, name: str) -> str | None:
        path = self._root / name
        if path.is_symlink() or not path.is_file():
            return None
        try:
            with path.open("rb") as file:
                data = file.read(READ_BYTES + 1)
        except OSError:
            return None
        return data.decode("utf-8", "replace") if len(data) <= READ_BYTES else None
