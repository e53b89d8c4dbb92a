"""The paths a text talks about."""

from __future__ import annotations

import re
from collections.abc import Iterator

from session_memory.core.project.path_shape import absolute, is_windows, join, leaf, parent
from session_memory.regex_cache import compiled

MAX_MENTIONS = 20
TEXT_LIMIT = 64 * 1024
# One character class, the separator is looked for apart: linear in any text.
_TOKEN = compiled(r"""[^\s"'`<>|,;()\[\]{}]+""")
_QUOTED = compiled(r'"([^"\n]{3,1024})"|`([^`\n]{3,1024})`|\'([^\'\n]{3,1024})\'')
_LINE_NUMBER = compiled(r"(?::\d+){1,2}$")


def mentioned_paths(text: str, cwd: str, home: str | None) -> list[str]:
    """Absolute forms of the first few paths in `text`, seen from `cwd`, in order of mention."""
    text = text[:TEXT_LIMIT]
    spellings = list(_with_separators(text))
    for match in _QUOTED.finditer(text):  # only quotes keep a path with spaces together
        quoted = match[match.lastindex or 0]
        if " " in quoted and absolute(quoted):
            spellings.append((match.start(), quoted))
    paths: list[str] = []
    for _, spelled in sorted(spellings):
        for path in _readings(spelled, cwd, home):
            if path not in paths:
                paths.append(path)
        if len(paths) >= MAX_MENTIONS:
            break
    return paths[:MAX_MENTIONS]


def _with_separators(text: str) -> Iterator[tuple[int, str]]:
    """Words that could be paths, with where they stand. Most words of a text hold no separator."""
    at = 0
    for word in text.split():
        if "/" not in word and "\\" not in word:
            continue
        at = text.index(word, at)
        for token in _TOKEN.finditer(word):
            if "/" in token[0] or "\\" in token[0]:
                yield at + token.start(), token[0]
        at += len(word)


def _readings(spelled: str, cwd: str, home: str | None) -> list[str]:
    """What a spelling can mean from `cwd`; nothing where it is no path."""
    if "://" in spelled:
        return []
    spelled = _LINE_NUMBER.sub("", spelled.lstrip("@").rstrip(".:!?"))
    if not spelled.strip("/\\.") or "\0" in spelled:
        return []
    if spelled.startswith(("~/", "~\\")):
        return [join(home, spelled[2:])] if home else []
    whole = absolute(spelled)
    if whole is not None:
        return [whole]
    if not is_windows(cwd) and "\\" in spelled:
        return []
    first = re.split(r"[/\\]", spelled, maxsplit=1)[0]
    # People name a folder together with the one they stand in: `workspace/app` in `workspace`.
    also = [join(parent(cwd), spelled)] if first and first == leaf(cwd) else []
    return [join(cwd, spelled), *also]
