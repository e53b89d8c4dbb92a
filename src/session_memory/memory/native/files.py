"""Finds and reads the files of agents' native memory; nothing is changed.

A repository is taken to be hostile: an import leads nowhere but into the repository or the agent's
own home, and only to files of text. Every text is redacted as it is read.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from session_memory.adapters.agent import Agent
from session_memory.adapters.registry import usual_places
from session_memory.plain_files import read_plain

READ_BYTES = 256 * 1024
MAX_FILES = 200
"""How many files of one agent are read; more are unlikely to be instructions."""
MAX_DEPTH = 5  # imports of imports, as Claude Code follows them
CHARS_PER_TOKEN = 4
_TEXT = (".md", ".mdc", ".txt", ".markdown")
_IMPORT = re.compile(r"(?:^|(?<=\s))@(~?[\w./-]+\.\w+)", re.M)
_CODE = re.compile(r"^```.*?^```|`[^`\n]*`", re.M | re.S)
_FRONT = re.compile(r"\A---\n(.*?)\n---\n", re.S)
_ALWAYS = re.compile(r"^alwaysApply:\s*true|^applyTo:\s*[\"']?\*\*[\"']?\s*$", re.M)
_CONDITION = re.compile(r"^(?:paths|globs|applyTo|description|alwaysApply):", re.M)

Scope = Literal["project", "user"]


class NativeFile(msgspec.Struct, frozen=True):
    """One file, and who reads it."""

    path: str
    """Where it really is."""
    name: str
    """As a person knows it: below the project, or below `~`."""
    scope: Scope
    agents: tuple[str, ...]
    always: bool
    """Whether every session is given it, not only one that opens or matches it."""
    text: str
    """Redacted."""
    clean: bool = True
    """Whether nothing was redacted: only then may a fix quote its lines."""
    imported_by: str = ""

    @property
    def tokens(self) -> int:
        """About how many a model is given with it."""
        return -(-len(self.text) // CHARS_PER_TOKEN)


class Unread(msgspec.Struct, frozen=True):
    """A file that is named and was not read, and why."""

    name: str
    reason: str


class Places(msgspec.Struct, frozen=True):
    """Where to look."""

    root: str
    home: str
    environ: Mapping[str, str]

    def named(self, path: str) -> str:
        """A path for people."""
        for base, sign in ((self.root, ""), (self.home, "~/")):
            real = os.path.realpath(base)
            if path.startswith(real + os.sep):
                return sign + path[len(real) + 1 :]
        return path


def read_files(
    agents: Iterable[Agent], places: Places, redact: Callable[[str], str]
) -> tuple[list[NativeFile], list[Unread]]:
    """Every file that some agent takes instructions from, each once."""
    files: dict[str, NativeFile] = {}
    unread: dict[str, Unread] = {}
    for agent in agents:
        for item in _of_agent(agent, places, redact):
            if isinstance(item, Unread):
                unread[item.name] = item
                continue
            earlier = files.get(item.path)
            if earlier is not None:
                readers = tuple(dict.fromkeys((*earlier.agents, *item.agents)))
                always = earlier.always or item.always
                item = msgspec.structs.replace(earlier, agents=readers, always=always)
            files[item.path] = item
    return list(files.values()), list(unread.values())


class _Where(NamedTuple):
    scope: Scope
    base: str
    patterns: Sequence[str]


def _of_agent(
    agent: Agent, places: Places, redact: Callable[[str], str]
) -> Iterator[NativeFile | Unread]:
    native = agent.native
    slug = re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(places.root))
    homes = usual_places(agent.homes, places.environ, places.home)
    moved = places.environ.get(agent.home_variable or "", "")
    homes = [moved] if moved else homes
    where = [_Where("project", places.root, native.project)]
    where += [_Where("user", home, native.home) for home in homes]
    count = 0
    for scope, base, patterns in where:
        paths = _matching(base, patterns, slug)
        if native.overrides:
            paths = [path for path in paths if path[:-3] + ".override.md" not in paths]
        later = set(_matching(base, native.on_demand, slug))
        for path in paths:
            count += 1
            if count > MAX_FILES:
                return
            inside = (places.root, *homes)
            reading = _Reading(agent, scope, places, inside, redact)
            yield from reading.files(path, always=path not in later)


def _matching(base: str, patterns: Sequence[str], slug: str) -> list[str]:
    paths: dict[str, None] = {}
    for pattern in patterns:
        name = os.path.join(glob.escape(base), pattern.replace("{slug}", slug))
        paths |= dict.fromkeys(sorted(glob.glob(name, recursive=True, include_hidden=True)))
    return [path for path in paths if os.path.isfile(path)]


class _Reading:
    """Reads one file of an agent and what it imports."""

    def __init__(
        self,
        agent: Agent,
        scope: Scope,
        places: Places,
        inside: Sequence[str],
        redact: Callable[[str], str],
    ) -> None:
        self._agent, self._places = agent, places
        self._scope: Scope = scope
        self._inside = tuple(os.path.realpath(base) + os.sep for base in inside)
        self._redact = redact
        self._seen: set[str] = set()

    def files(
        self, path: str, *, always: bool, by: str = "", depth: int = 0
    ) -> Iterator[NativeFile | Unread]:
        """The file and its imports."""
        real = os.path.realpath(path)
        if real in self._seen:
            return
        self._seen.add(real)
        name = self._places.named(real)
        reason = self._unfit(real)
        if reason:
            yield Unread(name, reason)
            return
        try:
            raw = read_plain(real, READ_BYTES).decode("utf-8", "replace")
        except OSError as error:
            yield Unread(name, f"it cannot be read: {error.strerror or error}")
            return
        text = self._redact(raw)
        is_always_read = always and _is_unconditional(raw)
        who = (self._agent.name,)
        yield NativeFile(real, name, self._scope, who, is_always_read, text, text == raw, by)
        if self._agent.native.imports and depth < MAX_DEPTH:
            for stated in _IMPORT.findall(_CODE.sub(" ", raw)):
                target = os.path.join(os.path.dirname(real), _expanded(stated, self._places.home))
                if os.path.isfile(target):
                    yield from self.files(target, always=is_always_read, by=name, depth=depth + 1)

    def _unfit(self, real: str) -> str:
        if not real.startswith(self._inside) or f"{os.sep}.git{os.sep}" in real:
            return "it is outside the project and the agent's home"
        named = os.path.basename(real)
        fit = real.endswith(_TEXT) or named == ".cursorrules"
        return "" if fit else "it is not a file of text"


def _expanded(stated: str, home: str) -> str:
    return os.path.join(home, stated[2:]) if stated.startswith("~/") else stated


def _is_unconditional(text: str) -> bool:
    """Whether the head of a rule file does not tie it to certain files."""
    front = _FRONT.match(text)
    if front is None or not _CONDITION.search(front[1]):
        return True
    return _ALWAYS.search(front[1]) is not None
