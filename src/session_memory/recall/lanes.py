"""Lanes: the part of a project a session works in, named by its directory or by what it mentions.

Names that every project has (src, docs, tests) or that belong to the machine or to rules (System32,
AGENTS.md) do not separate parts of a project, so they are never lanes (SCP-10).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from session_memory.core.commands import words
from session_memory.core.project.mentions import mentioned_paths
from session_memory.core.project.path_shape import leaf, parent, within
from session_memory.core.schema import Project
from session_memory.store.scopes import SessionLine

LaneSource = Literal["cwd_leaf", "path_mention", "text_mention"]
LaneConfidence = Literal["none", "low", "medium"]
MAX_CANDIDATES = 5
_NAME = re.compile(r"[\w][\w.\- ]{1,63}")
_TEXT = re.compile(
    r"\b(?:lane|sub-?scope|module|package|workstream)[:= ]+[`\"']?([\w][\w.-]{1,63})"
)
_BROAD = words(
    "src source sources lib libs doc docs documentation test tests spec specs workspace workspaces "
    "work home user users root desktop documents downloads temp tmp var opt usr etc bin build dist "
    "out target node_modules vendor packages apps projects repos repo code dev git github master "
    "main trunk system32 syswow64 windows program files programdata appdata mnt media volumes "
    "cache scripts tools assets public static migrations examples worktrees "
)
_NOISE = words(
    "system policy policies developer instructions instruction permissions sandbox approval agents "
    "agents.md claude.md gemini.md readme readme.md memory memories skill skills rules hooks "
    "environment environment_context context user_instructions session-memory the this that it "
)


class Lane(msgspec.Struct, frozen=True):
    """Where in a project a session worked, as far as its directory or words show."""

    name: str | None = None
    candidates: tuple[str, ...] = ()
    source: LaneSource | None = None
    confidence: LaneConfidence = "none"


class LaneGroup(msgspec.Struct, frozen=True):
    """All sessions of one lane, latest first."""

    name: str | None
    lines: tuple[SessionLine, ...]


def lane_of(line: SessionLine, project: Project) -> Lane:
    """The lane of a session: a directory below the root, a path in its request, or its words.

    To be started at the root says nothing about a lane, so the root's own name counts only where
    there is no other evidence.
    """
    root = project.root
    inner = _inner_name(line.cwd, root)
    evidence: list[tuple[str, LaneSource, LaneConfidence]] = []
    if inner is not None:
        evidence.append((inner, "cwd_leaf", "medium"))
    text = line.label or ""
    if "/" in text or "\\" in text:
        folders = _mentioned_folders(text, line.cwd, root)
        evidence.extend((name, "path_mention", "medium") for name in folders)
    words = lane_names(_TEXT.findall(text.lower()))
    evidence.extend((name, "text_mention", "low") for name in words)
    directory = root if root and line.cwd and within(line.cwd, root) else line.cwd
    own = lane_names([leaf(directory)]) if directory and not evidence else []
    evidence.extend((name, "cwd_leaf", "low") for name in own)
    if not evidence:
        return Lane()
    names = tuple(dict.fromkeys(name for name, _, _ in evidence))[:MAX_CANDIDATES]
    _, source, confidence = evidence[0]
    return Lane(names[0], names, source, confidence)


def lane_names(words: Iterable[str]) -> list[str]:
    """Those of the words that can name a lane."""
    return [word for word in words if is_lane_name(word)]


def is_lane_name(word: str) -> bool:
    """Whether a word separates one part of a project from another."""
    plain = word.casefold()
    if plain in _BROAD or plain in _NOISE or plain.startswith("."):
        return False
    return _NAME.fullmatch(word) is not None and not plain.isdigit()


def group_by_lane(lines: Sequence[SessionLine], project: Project) -> tuple[LaneGroup, ...]:
    """Sessions by lane, the lane with the latest session first."""
    groups: dict[str | None, list[SessionLine]] = {}
    for line in lines:
        groups.setdefault(lane_of(line, project).name, []).append(line)
    return tuple(LaneGroup(name, tuple(members)) for name, members in groups.items())


def _inner_name(cwd: str | None, root: str | None) -> str | None:
    """The innermost lane name on the way from the root to a directory; of a worktree, its name."""
    if cwd is None or root is None:
        return None
    if not within(cwd, root):
        return next(iter(lane_names([leaf(cwd)])), None)
    while within(cwd, root) and not within(root, cwd):
        if is_lane_name(leaf(cwd)):
            return leaf(cwd)
        cwd = parent(cwd)
    return None


def _mentioned_folders(text: str, cwd: str | None, root: str | None) -> list[str]:
    """For each path a text mentions, the outermost lane name below the root."""
    base = root or cwd
    if base is None:
        return []
    names: list[str] = []
    for path in mentioned_paths(text, cwd or base, None):
        if not within(path, base) or within(base, path):
            continue
        parts = re.split(r"[\\/]", path[len(base) :].strip("\\/"))
        folders = parts[:-1] if "." in parts[-1] else parts
        names += lane_names(folders)[:1]
    return names
