"""A command as it was typed, without what only says where it runs and how much is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from session_memory.regex_cache import compiled

_CHANGES_DIRECTORY = compiled(r"^(?:cd\s+(?:'[^']*'|\"[^\"]*\"|\S+)\s*(?:&&|;)\s*)+")
_PAGER = compiled(
    r"\s*(?:2>&1|2>/dev/null|\|\s*(?:tail|head|grep|egrep|rg|less|cat|wc|sort)\b"
    r"(?:'[^']*'|\"[^\"]*\"|[^|;&'\"])*)(?=\s*$|\s*\|)"
)
_FIRST_CD = compiled(r"""^cd\s+(?:'([^'\n]+)'|"([^"\n]+)"|([^\s;&|'"]+))\s*(?:&&|;)""")
_DRIVE = compiled(r"^/([A-Za-z])/")


def typed_command(command: str) -> str:
    """A command as it was typed, without a change of directory before it and a pager after it."""
    return _CHANGES_DIRECTORY.sub("", without_pagers(command))


def without_pagers(command: str) -> str:
    """The command in one line as it was typed, without `2>&1`, `| tail` and the like at its end."""
    text = " ".join(command.split())
    while (shorter := _PAGER.sub("", text)) != text:
        text = shorter
    return text.strip()


def directory_of(command: str, roots: Sequence[str]) -> str:
    """The directory inside the project that a command changes to first, or ""."""
    match = _FIRST_CD.match(command.strip())
    if match is None:
        return ""
    path = next(filter(None, match.groups())).rstrip("/").removeprefix("./")
    for spelled in (path, _DRIVE.sub(r"\1:/", path)):  # Git's shell on Windows writes /c/ for c:/
        short = short_path(spelled, roots)
        if re.fullmatch(r"[\w.@+-]+(?:/[\w.@+-]+)*", short) and ".." not in short.split("/"):
            return "" if short == "." else short
    return ""


def short_path(path: str, roots: Iterable[str]) -> str:
    """A path relative to the project."""
    flat = path.replace("\\", "/")
    for root in roots:
        base = root.replace("\\", "/").rstrip("/") + "/"
        if flat.lower().startswith(base.lower()) and len(flat) > len(base):
            return flat[len(base) :]
    return flat
