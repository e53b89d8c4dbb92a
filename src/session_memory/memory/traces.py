"""Traces on disk and in the store: one file and one row for each session, the file first."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Callable
from pathlib import Path

from session_memory.atomic_files import replace_file
from session_memory.core.schema import Session
from session_memory.errors import Refused, SessionMemoryError
from session_memory.memory.layout import TRACES, ensure_layout, memory_root
from session_memory.memory.trace_text import slug, trace_page
from session_memory.store.memories import Memories, Trace

Warn = Callable[[str, str], None]
"""Takes what went wrong and the path it concerns."""

_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def thread_id(session: Session) -> str:
    """The session's name in file names."""
    return thread_named(session.flavor, session.external_id)


def thread_named(flavor: str, name: str) -> str:
    """A session's name in file names, from its own; without `_`, as that ends it (EXT-43).

    Ids that are no UUID are only unique within their agent, so that they get a mark.
    """
    if _UUID.fullmatch(name):
        return name
    mark = hashlib.sha256(f"{flavor}\0{name}".encode("utf-8", "replace")).hexdigest()[:12]
    letters = re.sub(r"[^A-Za-z0-9-]+", "-", name).strip("-")[:60]
    return f"{letters or 'session'}-{mark}"


def file_name(thread: str, title: str | None) -> str:
    """`<thread>_<slug>.md`."""
    return f"{thread}_{slug(title or '')}.md"


def thread_of(name: str) -> str | None:
    """The thread a file name speaks of; None for every other file, which is nobody's to delete."""
    if not name.endswith(".md"):
        return None
    thread, underscore, _ = name.removesuffix(".md").partition("_")
    return thread if underscore and thread else None


def remove_files(folder: Path, thread: str, warn: Warn) -> int:
    """Remove every trace file of a thread; one that stays is only told."""
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


class TraceDraft:
    """A trace on its way to disk and store; the title decides its file's name."""

    def __init__(self, session: Session, root: str, rollout: str, title: str | None) -> None:
        self.session = session
        self.root = root
        self.rollout = rollout
        self.title = title


def save_trace(
    memories: Memories, data: Path, draft: TraceDraft, texts: tuple[str, str], warn: Warn
) -> Path:
    """Write the file, then the row; without the row the file goes again.

    A row without its file would be a memory nobody can read, a file without its row one that the
    next run writes once more: so the file is first, and never stays alone.
    """
    session = draft.session
    thread = thread_id(session)
    if memories.holder(thread) not in (None, session.id):
        raise Refused(f"another session's trace is named {thread}")
    folder = ensure_layout(memory_root(data, draft.root))
    path = folder / file_name(thread, draft.title)
    trace, summary = texts
    remove_files(folder, thread, warn)
    page = trace_page(session, thread, draft.rollout, trace)
    replace_file(path, page.encode("utf-8", "replace"))
    at = session.ended_at or session.started_at or 0
    try:
        memories.save(Trace(session.id, thread, draft.root, trace, summary, at))
    except SessionMemoryError:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
        raise
    return path


def trace_file(data: Path, trace: Trace) -> Path | None:
    """Where a trace's file is, if it is there."""
    folder = memory_root(data, trace.root) / TRACES
    found = [
        path for path in sorted(folder.glob("*.md")) if thread_of(path.name) == trace.thread_id
    ]
    return found[0] if found else None
