"""Values of filters that fit nothing at all: an error with a hint, never an empty answer.

They are looked for only where an answer would be empty, since it may take a while.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from posixpath import basename

from session_memory.core.text.safe_text import one_line
from session_memory.errors import UsageError
from session_memory.store.port import RecallStore, TextFilter

MOST_HINTS = 3
LIKE = 0.75


def check_tool(store: RecallStore, name: str | None) -> None:
    """Raise for a tool that no session ever used."""
    if name is not None and not store.scopes.has_tool(name):
        raise UsageError(
            f"no session used a tool {one_line(name)!r}",
            hint="names are case-sensitive, such as Bash",
        )


def check_file(store: RecallStore, part: str | None, where: TextFilter) -> None:
    """Raise for a part of a path that nothing here mentions; the hint names similar paths."""
    if part is None or store.scopes.has_path(part, where):
        return
    like = paths_like(part, store.scopes.recent_paths(where))
    hint = (
        f"known: {', '.join(map(one_line, like))}" if like else "part of a path, as agents saw it"
    )
    raise UsageError(f"nothing here mentions a path with {one_line(part)!r}", hint=hint)


def paths_like(part: str, paths: Iterable[str]) -> list[str]:
    """Paths whose names look like the wanted one, the likest first."""
    by_name: dict[str, str] = {}
    for path in paths:
        by_name.setdefault(basename(path.replace("\\", "/")).lower(), path)
    wanted = basename(part.replace("\\", "/").rstrip("/")).lower()
    names = get_close_matches(wanted, by_name, MOST_HINTS, LIKE)
    return [by_name[name] for name in names]
