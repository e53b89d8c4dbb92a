"""What a forgotten session or text leaves in memory is taken out of files, rows, jobs and logs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection
from pathlib import Path

from session_memory.atomic_files import replace_file
from session_memory.core.forget import Remains
from session_memory.memory.layout import (
    MEMORIES,
    MEMORY,
    TRACES,
    mark_for_rebuild,
    memory_root,
)
from session_memory.memory.log import NAME as LOG
from session_memory.memory.skills import SKILLS
from session_memory.memory.staging import discard, leftovers
from session_memory.memory.traces import remove_files, thread_named, thread_of
from session_memory.memory.user_part import page_of, yours_in
from session_memory.store.port import MemoryStore

Words = Callable[[str], str]
Named = Collection[tuple[str, str]]
"""Sessions by flavour and id of their own."""
MAX_FILE_BYTES = 4 * 1024 * 1024
_MADE_OF_TRACES = ("MEMORY.md", "memory_summary.md", "consolidated.md")


def forget_sessions(data: Path, logs: Path, gone: Named) -> int:
    """Remove the trace files of sessions, and mark what was made of them; returns how many went.

    The rows go with their sessions. Files are found by name, so that it does not matter whether a
    row is still there: a run that was cut off is finished by the next.
    """
    threads = {thread_named(flavor, name) for flavor, name in gone}
    if not threads:
        return 0
    removed = 0
    for folder in _folders(data):
        _drop_leftovers(folder)
        held = {thread_of(path.name) for path in (folder / TRACES).glob("*.md")} & threads
        for thread in sorted(filter(None, held)):
            removed += remove_files(folder / TRACES, thread, _silent)
        if held or _names(folder, threads):
            drop_made(folder)
    _drop_logs(logs)
    return removed


def forget_places(data: Path, roots: Collection[str]) -> tuple[Remains, ...]:
    """Remove the memory of places that no session is left of, except what the user wrote there."""
    remains: list[Remains] = []
    for folder in {memory_root(data, root) for root in roots}:
        page = folder / MEMORY
        text = page.read_text(encoding="utf-8", errors="replace") if _is_plain(page) else ""
        if yours_in(text):
            remains.append(Remains(str(page), "you wrote what is in it; delete it if it must go"))
        elif folder.is_dir():
            discard(folder.parent, _silent)
    return tuple(remains)


def _drop_leftovers(folder: Path) -> None:
    """Copies that a run made, or is making: whoever still works there is refused at its end."""
    for path in leftovers(folder):
        discard(path, _silent)


def forget_jobs(store: MemoryStore, gone: Named) -> None:
    """Remove background work and locks that name sessions, or places none is left in."""
    names = {f"{flavor}:{name}" for flavor, name in gone}
    places = store.memories.roots()
    for job in store.jobs.all():
        of_session = job.kind == "memory.extract" and job.key.partition(":")[2] in names
        of_place = job.kind == "memory.consolidate" and job.key not in places
        if of_session or of_place:
            store.jobs.drop(job.id)
    owners = {name for _, name in gone}
    stale = [
        held.root
        for held in store.memories.held()
        if held.root not in places or held.owner in owners
    ]
    store.memories.drop_locks(stale)


def is_said(data: Path, words: Words) -> bool:
    """Whether a file of memory holds words that `words` would replace."""
    for folder in _folders(data):
        for path in folder.parent.rglob("*"):
            if _is_plain(path) and path.stat().st_size <= MAX_FILE_BYTES:
                text = path.read_text(encoding="utf-8", errors="replace")
                if words(text) != text:
                    return True
    return False


def reword(store: MemoryStore, data: Path, logs: Path, words: Words) -> int:
    """Replace words in every row and file of memory; returns how many files changed."""
    for root in store.memories.reword(words):
        mark_for_rebuild(memory_root(data, root))
    changed = 0
    for folder in _folders(data):
        _drop_leftovers(folder)
        for path in sorted(folder.rglob("*")):
            if _is_plain(path) and _reworded(path, words):
                changed += 1
                mark_for_rebuild(folder)
    if changed:
        _drop_logs(logs)
    return changed


def _reworded(path: Path, words: Words) -> bool:
    if path.stat().st_size > MAX_FILE_BYTES:
        return False
    old = path.read_bytes()
    new = words(old.decode("utf-8", "replace")).encode("utf-8", "replace")
    if new == old:
        return False
    replace_file(path, new)
    return True


def _folders(data: Path) -> list[Path]:
    return sorted(path for path in (data / MEMORIES).glob("*/memory") if path.is_dir())


def _names(folder: Path, threads: Collection[str]) -> bool:
    """Whether a memory still tells of a trace that was pruned before."""
    for name in _MADE_OF_TRACES:
        path = folder / name
        if _is_plain(path):
            text = path.read_text(encoding="utf-8", errors="replace")
            if any(thread in text for thread in threads):
                return True
    return False


def drop_made(folder: Path) -> None:
    """What was made of several traces cannot be picked apart: it goes, and is made anew.

    What the user wrote into MEMORY.md is not made of traces, and stays.
    """
    for name in _MADE_OF_TRACES:
        path = folder / name
        text = path.read_bytes().decode("utf-8", "surrogateescape") if _is_plain(path) else ""
        yours = yours_in(text)
        if yours:
            replace_file(path, page_of(yours).encode("utf-8", "surrogateescape"))
            continue
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
    discard(folder / SKILLS, _silent)
    mark_for_rebuild(folder)


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _drop_logs(logs: Path) -> None:
    for path in logs.glob(f"{LOG}*"):
        with contextlib.suppress(FileNotFoundError):
            path.unlink()


def _silent(_text: str, _path: str) -> None:
    """A file that stays is found again by `forget --verify`."""
