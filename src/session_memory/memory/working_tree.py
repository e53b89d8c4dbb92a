"""Looks up names in a project's directory, within limits; nothing is executed."""

from __future__ import annotations

import os
import re
import shutil
from functools import cached_property
from pathlib import Path

import msgspec

from session_memory.core.commands import words
from session_memory.memory.stale import Lookup, UnknownTree

MAX_LOOKUPS = 400
"""How many names one memory looks up; after that nothing is marked as gone."""
READ_BYTES = 256 * 1024
_BUILT_IN = words(
    "cd echo export set unset source . test [ [[ true false exit pwd read type printf eval exec"
    " alias ulimit umask wait trap for while if case until"
)
_OWN_PROGRAMS = (".venv/bin", "venv/bin", "node_modules/.bin", "vendor/bin", "bin")
_TARGET = re.compile(r"^([A-Za-z0-9][\w./-]*)(?:[^\S\n]+[\w./-]+)*[^\S\n]*:(?!=)", re.M)


class _Package(msgspec.Struct, frozen=True):
    scripts: dict[str, str] = {}


def look_into(root: str) -> Lookup:
    """The working tree at a project root, if it is on this machine."""
    return WorkingTree(root) if os.path.isabs(root) and os.path.isdir(root) else UnknownTree()


class WorkingTree:
    """See stale.Lookup."""

    def __init__(self, root: str) -> None:
        self._root = Path(root)
        self._left = MAX_LOOKUPS

    def has_path(self, path: str) -> bool | None:
        """Whether a path inside the project exists; other paths are not looked up."""
        self._left -= 1
        if self._left < 0 or os.path.isabs(path) or path.startswith("~"):
            return None
        if ".." in path.split("/"):
            return None
        if "/" not in path:
            # A bare name may be anywhere in the project, so a missing one proves nothing.
            return True if (self._root / path).exists() else None
        return os.path.lexists(self._root / path)

    def has_program(self, program: str) -> bool | None:
        """Whether a program is on the PATH or among the project's own."""
        self._left -= 1
        if self._left < 0 or program in _BUILT_IN or not re.fullmatch(r"[\w.+-]+", program):
            return None
        if shutil.which(program) is not None:
            return True
        return any((self._root / folder / program).exists() for folder in _OWN_PROGRAMS)

    def has_script(self, runner: str, script: str) -> bool | None:
        """Whether a script or target of that name is declared; None if there is no list of them."""
        declared = self._targets if runner in ("make", "just") else self._scripts
        return None if declared is None else script in declared

    @cached_property
    def _scripts(self) -> frozenset[str] | None:
        text = self._read("package.json")
        # In a workspace, packages in subfolders declare scripts as well.
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
