"""Which project a directory belongs to: the one answer for commands, journal, memory and recall."""

from __future__ import annotations

import os
from collections.abc import Iterable

from session_memory.core.project.disk_tree import DiskTree
from session_memory.core.project.path_shape import within
from session_memory.core.project.repository import resolve_repo
from session_memory.core.schema import Project
from session_memory.file_names import name_to_text


def project_at(projects: Iterable[Project], directory: str) -> Project | None:
    """The project whose root or alias is the directory or is nearest above it; links resolved."""
    real = DiskTree().real
    here = real(directory)
    best: tuple[int, Project] | None = None
    for project in projects:
        for root in filter(None, (project.root, *project.aliases)):
            if (within(here, root) or within(here, real(root))) and (
                best is None or len(root) > best[0]
            ):
                best = (len(root), project)
    return best[1] if best else None


def current_directory() -> str:
    """Where this process works, as a path that can be stored."""
    return name_to_text(os.path.realpath(os.getcwd()))


def current_root(home: str | None) -> str:
    """The root of the current repository, or the current directory."""
    directory = current_directory()
    return resolve_repo(directory, DiskTree(), home) or directory
