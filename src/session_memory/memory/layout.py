"""Where a project's memory is kept: one folder per project root, named by a hash of its path."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from session_memory.core.schema import Project, Session
from session_memory.paths import private_dir

MEMORIES = "memories"
TRACES = "trace_summaries"
SUMMARY = "memory_summary.md"
MEMORY = "MEMORY.md"
SKILLS = "skills"
SKILL_FILE = "SKILL.md"
LINES = ".lines.json"
"""The lines MEMORY.md has and had before, if no model wrote it."""
REBUILD = ".rebuild"
"""Written next to MEMORY.md when a source of it is gone: the next run starts over."""


def normalised(path: str) -> str:
    """The real path behind links; a path of another system stays as it is."""
    if not os.path.isabs(path):  # joined to our working directory it would be nonsense
        return path
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path


def folder_name(root: str) -> str:
    """A hash, so that no path of the user's becomes part of ours."""
    return hashlib.sha256(root.encode("utf-8", "surrogateescape")).hexdigest()


def memory_root(data: Path, root: str) -> Path:
    """The memory folder of a project root, named by a hash of its path."""
    return data / MEMORIES / folder_name(normalised(root)) / "memory"


def root_of(session: Session, projects: Mapping[int, Project]) -> str | None:
    """The root whose memory a session feeds: its project's, or else the directory it ran in.

    Worktrees share a project, and so a memory, unless the configuration separates them.
    """
    project = projects.get(session.project_id) if session.project_id is not None else None
    root = project.root if project is not None and project.root else session.cwd
    return normalised(root) if root else None


def ensure_layout(folder: Path) -> Path:
    """Create the folders of a memory; returns the one for traces."""
    private_dir(folder)
    return private_dir(folder / TRACES)


def mark_for_rebuild(folder: Path) -> None:
    """Mark MEMORY.md as outdated: something it was made of is gone."""
    if folder.is_dir():
        (folder / REBUILD).touch(mode=0o600)
