"""Keys that a project had before the user merged or renamed it."""

from __future__ import annotations

from collections.abc import Iterable

from session_memory.core.schema import Project


def key_hint(projects: Iterable[Project], key: str | None, otherwise: str) -> str:
    """What to tell a user whose key no project has: where it went, or else something general.

    It is named and not used: the other project is more than the user meant, to forget for instance.
    """
    renamed = None
    for project in projects:
        if key in project.merged:
            return f"it is part of {project.key} now"
        if key is not None and project.found_key == key:
            renamed = f"it is called {project.key} now"
    return renamed or otherwise
