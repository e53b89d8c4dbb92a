"""Where a project's memory lies: one folder for each place of work, named by a hash of its path."""

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
REBUILD = ".rebuild"
"""Left beside MEMORY.md when something it was made of is gone: whoever consolidates starts anew."""

YOURS_BEGIN = "<!-- yours: what stands here is kept as it is -->"
YOURS_END = "<!-- end of yours -->"
"""Around what the user wrote into MEMORY.md: nothing of ours changes it."""


def normalised(path: str) -> str:
    """The real path behind links; what is no path of this system stays as it was written."""
    if not os.path.isabs(path):  # another system's: joined to where we are it would be nonsense
        return path
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return path


def bucket(root: str) -> str:
    """The folder name of a place of work: a hash, so that no path is ever part of ours."""
    name = normalised(root).encode("utf-8", "surrogateescape")
    return hashlib.sha256(name).hexdigest()


def memory_root(data: Path, root: str) -> Path:
    """The memory folder of a place of work."""
    return data / MEMORIES / bucket(root) / "memory"


def root_of(session: Session, projects: Mapping[int, Project]) -> str | None:
    """The place whose memory a session feeds: its project's root, without one where it ran.

    Worktrees share a project, and so a memory, unless the configuration keeps them apart.
    """
    project = projects.get(session.project_id) if session.project_id is not None else None
    root = project.root if project is not None and project.root else session.cwd
    return normalised(root) if root else None


def ensure_layout(folder: Path) -> Path:
    """Make the folders of a memory; returns the one that traces go into."""
    private_dir(folder)
    return private_dir(folder / TRACES)


def mark_for_rebuild(folder: Path) -> None:
    """Say that MEMORY.md tells of something that is no longer there."""
    if folder.is_dir():
        (folder / REBUILD).touch(mode=0o600)
