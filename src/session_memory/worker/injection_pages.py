"""Injection pages: what the hook prints at session start, prepared here and replaced whole.

One page per directory a session can start in (project root, worktree, alias), named by the hash of
its path, so that the hook finds it without a database. Where worktrees share their project, the
same page stands under two more names: for worktrees and clones that no session ran in yet. Sections
come from memory, journal and the learning loop; a page without sections is no page, and the hook
prints nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.core.loop.injection import Section, fit
from session_memory.file_names import text_to_name
from session_memory.paths import private_dir

VERSION = 1
FOLDER, LINES = "inject", "lines.json"
"""Where pages lie, below the state directory, and the file in which `briefings.py` keeps lines."""
SHARED, REMOTE = "shared:", "remote:"
"""How the names begin that the hook asks for in an unknown checkout: of its main root, its remote.
No path begins so."""
MARK_LIFETIME_MS = 7 * 24 * 3_600_000
"""Marks are kept this long for sessions that were given a page but never reported their end."""


class Page(msgspec.Struct, frozen=True):
    """What sessions of one project are given."""

    text: str
    sections: tuple[Section, ...]
    made_at: int
    v: int = VERSION


def page_name(root: str) -> str:
    """The file name of a directory's page."""
    return (
        hashlib.sha256(text_to_name(root).encode("utf-8", "surrogateescape")).hexdigest() + ".json"
    )


def write_pages(state: Path, pages: Mapping[str, tuple[Section, ...]], now_ms: int) -> int:
    """Write a page for each name that has sections, remove every other.

    Returns how many directories have one.
    """
    folder = private_dir(state / FOLDER)
    by_root = {root: fit(sections) for root, sections in pages.items()}
    fitted = {page_name(root): sections for root, sections in by_root.items() if sections}
    for old in folder.glob("*.json"):
        if old.name not in fitted and old.name != LINES:
            with contextlib.suppress(FileNotFoundError):
                old.unlink()
    for name, sections in fitted.items():
        page = Page("", sections, now_ms)
        path = folder / name
        with contextlib.suppress(OSError, msgspec.DecodeError):
            written = msgspec.json.decode(path.read_bytes(), type=Page)
            if written.sections == sections:
                continue
        replace_file(path, msgspec.json.encode(page))
    return sum(
        bool(made) for root, made in by_root.items() if not root.startswith((SHARED, REMOTE))
    )


def drop_marks(state: Path, now_ms: int) -> None:
    """Remove what hooks remember of sessions that never reported their end."""
    for mark in (*(state / "told").glob("*"), *(state / "guards").glob("*")):
        with contextlib.suppress(FileNotFoundError):
            if mark.stat().st_mtime * 1000 < now_ms - MARK_LIFETIME_MS:
                mark.unlink()


def page_texts(state: Path) -> Iterator[str]:
    """Every text in the pages and in what they are made of; a damaged file as it is."""
    for path in (state / FOLDER).glob("*.json"):
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            continue
        try:
            yield from _texts(msgspec.json.decode(data))
        except msgspec.DecodeError:
            yield data.decode("utf-8", "replace")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in cast("dict[str, Any]", value).values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _texts(inner)


def drop_pages(state: Path) -> None:
    """Remove every page and what they are made of: it may hold text that must go.

    The worker writes new ones.
    """
    for page in (state / FOLDER).glob("*.json"):
        with contextlib.suppress(FileNotFoundError):
            page.unlink()
