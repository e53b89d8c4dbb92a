"""Traces on disk and in the store: one file and one row per session, the file first."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.core.schema import Session
from session_memory.errors import Refused, SessionMemoryError
from session_memory.memory.layout import TRACES, ensure_layout, memory_root
from session_memory.memory.orders import is_order
from session_memory.memory.selection import updated_at
from session_memory.memory.trace_text import slug, trace_page
from session_memory.store.memories import Memories, Trace

Warn = Callable[[str, str], None]
"""Takes what went wrong and the path it concerns."""

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def thread_named(flavor: str, session_id: str) -> str:
    """A session's id in file names; without `_`, which separates it from the title.

    Ids that are not UUIDs are unique only within their agent, so they get a hash.
    """
    if _UUID.fullmatch(session_id):
        return session_id
    mark = hashlib.sha256(f"{flavor}\0{session_id}".encode("utf-8", "replace")).hexdigest()[:12]
    letters = re.sub(r"[^A-Za-z0-9-]+", "-", session_id).strip("-")[:60]
    return f"{letters or 'session'}-{mark}"


def file_name(thread: str, title: str | None) -> str:
    """`<thread>_<slug>.md`."""
    usable_title = title if title and not is_order(title) else ""
    return f"{thread}_{slug(usable_title)}.md"


def thread_of(name: str) -> str | None:
    """The thread of a trace file's name; None for any other file, which we must not delete."""
    if not name.endswith(".md"):
        return None
    thread, underscore, _ = name.removesuffix(".md").partition("_")
    return thread if underscore and thread else None


def remove_files(folder: Path, thread: str, warn: Warn) -> int:
    """Remove every trace file of a thread; returns how many."""
    removed = 0
    for path in sorted(folder.glob("*.md")):
        if thread_of(path.name) != thread:
            continue
        try:
            path.unlink()
            removed += 1
        except FileNotFoundError:
            continue
        except OSError as error:
            warn(f"cannot remove an older trace: {error.strerror}", str(path))
    return removed


class TraceDraft(msgspec.Struct, frozen=True):
    """A trace to save; its title becomes part of the file name."""

    session: Session
    root: str
    rollout: str
    """Path of the session's log."""
    title: str | None
    trace: str
    summary: str


def save_trace(memories: Memories, data: Path, draft: TraceDraft, warn: Warn) -> Path:
    """Write the file, then the row; if the row fails the file is removed again.

    A row without its file would be a memory that cannot be read, and a file without its row is
    written again by the next run. So the file comes first and never stays alone.
    """
    session = draft.session
    thread = thread_named(session.flavor, session.external_id)
    if memories.holder(thread) not in (None, session.id):
        raise Refused(f"another session's trace is named {thread}")
    folder = ensure_layout(memory_root(data, draft.root))
    path = folder / file_name(thread, draft.title)
    remove_files(folder, thread, warn)
    page = trace_page(session, thread, draft.rollout, draft.trace)
    replace_file(path, page.encode("utf-8", "replace"))
    row = Trace(session.id, thread, draft.root, draft.trace, draft.summary, updated_at(session))
    try:
        memories.save(row)
    except SessionMemoryError:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        raise
    return path


def trace_file(data: Path, trace: Trace) -> Path | None:
    """The file of a trace, if there is one."""
    folder = memory_root(data, trace.root) / TRACES
    paths = (
        path for path in sorted(folder.glob("*.md")) if thread_of(path.name) == trace.thread_id
    )
    return next(paths, None)
