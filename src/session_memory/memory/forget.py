"""Removes forgotten sessions and texts from memory: from files, rows, jobs and logs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection
from pathlib import Path

from session_memory.atomic_files import replace_file
from session_memory.core.forget import Remains
from session_memory.memory.layout import (
    LINES,
    MEMORIES,
    MEMORY,
    SKILLS,
    SUMMARY,
    TRACES,
    mark_for_rebuild,
    memory_root,
)
from session_memory.memory.log import NAME as LOG
from session_memory.memory.staging import clear_leftovers, discard
from session_memory.memory.traces import remove_files, thread_named, thread_of
from session_memory.memory.user_part import page_with_user_part, user_part_of
from session_memory.store.port import MemoryStore

Edit = Callable[[str], str]
SessionNames = Collection[tuple[str, str]]
"""Sessions by flavour and their agent's id."""
MAX_FILE_BYTES = 4 * 1024 * 1024
_MADE_OF_TRACES = (MEMORY, SUMMARY, "consolidated.md", LINES)


def forget_sessions(data: Path, logs: Path, sessions: SessionNames) -> int:
    """Remove the trace files of sessions and what was made of them; returns how many traces.

    The rows go with their sessions. Files are found by name, whether or not the row still exists,
    so that the next run can finish an interrupted one.
    """
    threads = {thread_named(flavor, session_id) for flavor, session_id in sessions}
    if not threads:
        return 0
    removed = 0
    for folder in _folders(data):
        clear_leftovers(folder, _ignore)
        present = {thread_of(path.name) for path in (folder / TRACES).glob("*.md")} & threads
        for thread in sorted(filter(None, present)):
            removed += remove_files(folder / TRACES, thread, _ignore)
        if present or _mentions(folder, threads):
            remove_outputs(folder)
    _remove_logs(logs)
    return removed


def forget_places(data: Path, roots: Collection[str]) -> tuple[Remains, ...]:
    """Remove memories of project roots without sessions, except for what the user wrote in them."""
    remains: list[Remains] = []
    for folder in {memory_root(data, root) for root in roots}:
        page = folder / MEMORY
        text = page.read_text(encoding="utf-8", errors="replace") if _is_plain(page) else ""
        if user_part_of(text):
            remains.append(Remains(str(page), "you wrote what is in it; delete it if it must go"))
        elif folder.is_dir():
            discard(folder.parent, _ignore)
    return tuple(remains)


def forget_jobs(store: MemoryStore, sessions: SessionNames) -> None:
    """Remove jobs and locks that name sessions, or project roots without traces."""
    names = {f"{flavor}:{session_id}" for flavor, session_id in sessions}
    roots = store.memories.roots()
    for job in store.jobs.all():
        of_session = job.kind == "memory.extract" and job.key.partition(":")[2] in names
        of_root = job.kind == "memory.consolidate" and job.key not in roots
        if of_session or of_root:
            store.jobs.drop(job.id)
    owners = {session_id for _, session_id in sessions}
    stale = [
        lock.root
        for lock in store.memories.held()
        if lock.root not in roots or lock.owner in owners
    ]
    store.memories.drop_locks(stale)


def is_said(data: Path, edit: Edit) -> bool:
    """Whether `edit` would change a file of memory."""
    for folder in _folders(data):
        for path in folder.parent.rglob("*"):
            if _is_plain(path) and path.stat().st_size <= MAX_FILE_BYTES:
                text = path.read_text(encoding="utf-8", errors="replace")
                if edit(text) != text:
                    return True
    return False


def reword(store: MemoryStore, data: Path, logs: Path, edit: Edit) -> int:
    """Pass every row and file of memory through `edit`; returns how many files changed."""
    for root in store.memories.reword(edit):
        mark_for_rebuild(memory_root(data, root))
    changed = 0
    for folder in _folders(data):
        clear_leftovers(folder, _ignore)
        for path in sorted(folder.rglob("*")):
            if _is_plain(path) and _edit_file(path, edit):
                changed += 1
                mark_for_rebuild(folder)
    if changed:
        _remove_logs(logs)
    return changed


def _edit_file(path: Path, edit: Edit) -> bool:
    """Edit a file; False if that changed nothing."""
    if path.stat().st_size > MAX_FILE_BYTES:
        return False
    old = path.read_bytes()
    new = edit(old.decode("utf-8", "replace")).encode("utf-8", "replace")
    if new == old:
        return False
    replace_file(path, new)
    return True


def _folders(data: Path) -> list[Path]:
    return sorted(path for path in (data / MEMORIES).glob("*/memory") if path.is_dir())


def _mentions(folder: Path, threads: Collection[str]) -> bool:
    """Whether a memory mentions a trace, even if its file was pruned."""
    for name in _MADE_OF_TRACES:
        path = folder / name
        if _is_plain(path):
            text = path.read_text(encoding="utf-8", errors="replace")
            if any(thread in text for thread in threads):
                return True
    return False


def remove_outputs(folder: Path) -> None:
    """Remove what was made of traces, to be made again; one trace cannot be taken out of it.

    The user part of MEMORY.md is not made of traces, and stays.
    """
    for name in _MADE_OF_TRACES:
        path = folder / name
        text = path.read_bytes().decode("utf-8", "surrogateescape") if _is_plain(path) else ""
        user_part = user_part_of(text)
        if user_part:
            page = page_with_user_part(user_part)
            replace_file(path, page.encode("utf-8", "surrogateescape"))
            continue
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
    discard(folder / SKILLS, _ignore)
    mark_for_rebuild(folder)


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _remove_logs(logs: Path) -> None:
    for path in logs.glob(f"{LOG}*"):
        with contextlib.suppress(FileNotFoundError):
            path.unlink()


def _ignore(_text: str, _path: str) -> None:
    """A file that cannot be removed is reported by `forget --verify`."""
