"""Which checks are for a whole project: the ones to name to a newcomer."""

from __future__ import annotations

from session_memory.core.commands import steps
from session_memory.regex_cache import compiled

_COMMAND_CHARS = 100
_PATHLIKE = compiled(r"[/\\]|\.\w{1,5}$|::|^\d+$|[=*]")
_NARROWS = compiled(r"^--?(?:filter|F|max-|run|k|t|grep|only)\b|^--[\w-]+=")
_NO_CODE = compiled(r"\b(?!types?|lint|format|fmt|code|style|ts|tsc|deps)\w+:check\b")
_EVERYTHING = frozenset((".", "./..."))
FIXES = compiled(r"^--(?:fix|write|apply)|[:_-]fix$|^-w$")
"""A word that makes a check fix what it finds."""


def is_project_wide(command: str) -> bool:
    """Whether a check is for the whole project: it names no file and changes none."""
    if len(steps(command)) != 1 or "\n" in command or len(command) > _COMMAND_CHARS:
        return False
    words = command.split()[1:]
    named = [word for word in words if not word.startswith("-") and word not in _EVERYTHING]
    narrowed = any(map(_PATHLIKE.search, named)) or any(map(_NARROWS.search, words))
    return not narrowed and not any(map(FIXES.search, words)) and not _NO_CODE.search(command)
