"""Points of knowledge articles as answers to a search: read from the files at each search.

Like lines of MEMORY.md they have no index of ours, so nothing besides the files has to forget them.
A point is shown under the title of its article, by which it is found as well.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

from session_memory.core.schema import Project
from session_memory.memory.layout import folder_name, normalised
from session_memory.recall.page_line import READ_BYTES, PageLine, line_name

JOURNAL, KNOWLEDGE = "journal", "knowledge"
KINDS = ("concepts", "connections", "qa")
_TITLE = re.compile(r"^title:[ \t]*(.+)$", re.M)
_FRONT = re.compile(r"\A---\n.*?^---[ \t]*\n", re.S | re.M)
_SOURCE = re.compile(r"\s*\(\[\[daily/[^\]]*\]\]\)|\s*<!--.*?-->")
"""Where a point comes from: the day, and the key of its entry."""
_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]")
_RELATED = re.compile(r"^## (?:Related|Sources)\b", re.M)
"""Parts of an article that name other files."""


def article_lines(data: Path, vault: str, project: Project | None) -> Iterator[PageLine]:
    """The points of a project's articles, or of all. A vault belongs to no single project."""
    for folder in _folders(data, vault, project):
        for kind in KINDS:
            for entry in _entries(folder / KNOWLEDGE / kind):
                stat = entry.stat(follow_symlinks=False)
                if stat.st_size <= READ_BYTES:
                    yield from _points(entry.path, stat.st_mtime_ns, stat.st_size)


def is_of(line: PageLine, project: Project) -> bool:
    """Whether an article stands in the journal of a project."""
    return project.root is not None and line.file.parents[2].name in _names(project.root)


def _folders(data: Path, vault: str, project: Project | None) -> Iterable[Path]:
    if vault:
        return [Path(vault)] if project is None else []
    if project is None:
        return [Path(entry.path) for entry in _entries(data / JOURNAL, are_files=False)]
    return [data / JOURNAL / name for name in _names(project.root)] if project.root else []


def _names(root: str) -> list[str]:
    return list(dict.fromkeys(folder_name(each) for each in (root, normalised(root))))


def _entries(folder: Path, *, are_files: bool = True) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(
                (
                    entry
                    for entry in entries
                    if (
                        entry.is_file(follow_symlinks=False) and entry.name.endswith(".md")
                        if are_files
                        else entry.is_dir(follow_symlinks=False)
                    )
                ),
                key=lambda entry: entry.name,
            )
    except OSError:
        return []


@lru_cache(maxsize=2048)  # a server answers many searches; a changed file has another time
def _points(path: str, _changed: int, _size: int) -> tuple[PageLine, ...]:
    try:
        page = Path(path).read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
    except OSError:
        return ()
    front = _FRONT.match(page)
    titled = _TITLE.search(front[0]) if front else None
    if front is None or titled is None:
        return ()
    title = titled[1].strip().strip("\"'")
    body = _RELATED.split(page[front.end() :])[0]
    file = Path(path)
    return tuple(
        PageLine(line_name("k", f"{path}\n{text}"), f"{title}: {text}", (), file, "article")
        for text in _statements(body)
    )


def _statements(body: str) -> Iterator[str]:
    for line in body.splitlines():
        statement = _LINK.sub(r"\1", _SOURCE.sub("", line)).strip().removeprefix("- ").strip()
        if statement and not statement.startswith(("#", "|", "<!--", "```")):
            yield statement
