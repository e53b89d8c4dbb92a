"""Swaps new outputs in, so that there is a complete memory at every moment.

New skills come first, then MEMORY.md in one step, then skills it no longer names are removed. So
everything that the present MEMORY.md links to exists; a killed run leaves at most unused files.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.memory.layout import MEMORY, REBUILD, SKILLS, TRACES
from session_memory.memory.line_history import read_history
from session_memory.memory.outputs import Files, skills_in
from session_memory.memory.traces import thread_of
from session_memory.memory.user_part import generated_part_of, page_with_user_part, user_part_of
from session_memory.paths import private_dir
from session_memory.store.memories import Trace

READY = "ready"
TRASH = "trash"
_STAMP = re.compile(r"^<!-- made of ([0-9a-f]{16})[^\n]* -->$", re.M)
_RULES_VERSION = "2"
"""Part of every stamp; change it when the same traces should give a different memory."""


def stamp_of(traces: Sequence[Trace]) -> str:
    """Identifies what a memory was made of: equal traces have equal stamps."""
    digest = hashlib.sha256(_RULES_VERSION.encode())
    for trace in traces:
        fields = (trace.thread_id, str(trace.updated_at), trace.trace_summary, trace.memory_summary)
        digest.update("\0".join(fields).encode("utf-8", "replace"))
    return digest.hexdigest()[:16]


def is_current(live: Path, stamp: str, digests: str) -> bool:
    """Whether MEMORY.md is made of exactly these traces, and complete with its skills.

    Without a model it is made of digests too; `digests` identifies them.
    """
    made_of = read_history(live).digests
    if made_of and made_of != digests:
        return False
    page = live / MEMORY
    if (live / REBUILD).exists() or page.is_symlink() or not page.is_file():
        return False
    text = page.read_text("utf-8", "replace")
    match = _STAMP.search(text)
    existing = {path.name for path in (live / SKILLS).glob("*")}
    linked = set(re.findall(rf"\]\({SKILLS}/([a-z0-9-]+)/", text))
    return match is not None and match[1] == stamp and existing == linked


class SoFar(msgspec.Struct, frozen=True):
    """The memory that the last consolidation made."""

    text: str = ""
    """Its generated part."""
    changed: tuple[str, ...] = ()
    """The traces that were written since."""


def read_so_far(live: Path) -> SoFar:
    """What stands in MEMORY.md without the user part, and the traces that are newer than it."""
    page = live / MEMORY
    if (live / REBUILD).exists() or page.is_symlink() or not page.is_file():
        return SoFar()  # after a forget the old text must not be repeated
    text = _STAMP.sub("", generated_part_of(page.read_text("utf-8", "replace"))).strip()
    made_at = page.stat().st_mtime_ns
    newer = [
        path for path in sorted((live / TRACES).glob("*.md")) if path.stat().st_mtime_ns > made_at
    ]
    threads = (thread_of(path.name) for path in newer)
    return SoFar(text, tuple(thread for thread in threads if thread is not None))


def write_ready(staging: Path, made: Files) -> None:
    """Write new skills durably to disk before anything live changes."""
    for name, text in made.items():
        if name != MEMORY:
            path = staging / READY / name
            private_dir(path.parent)
            replace_file(path, text.encode("utf-8", "replace"))


def swap(live: Path, staging: Path, made: Files, traces: Sequence[Trace]) -> None:
    """Replace the old outputs; call it while holding the lock."""
    for name in sorted(made):
        if name != MEMORY:
            private_dir((live / name).parent)
            os.replace(staging / READY / name, live / name)
    _write_page(live, made.get(MEMORY), traces)
    trash = private_dir(staging / TRASH)
    skills = set(skills_in(made))
    stale = [path for path in (live / SKILLS).glob("*") if path.name not in skills]
    stale += [live / "consolidated.md"]
    for number, path in enumerate(stale):
        with contextlib.suppress(FileNotFoundError):
            os.replace(path, trash / str(number))
    for skill in skills:
        _remove_other_files(live, skill, made)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(live / REBUILD)


def _write_page(live: Path, text: str | None, traces: Sequence[Trace]) -> None:
    """Write MEMORY.md with the user part as it is now.

    The stamp names all traces, whatever a model wrote, so that `forget` finds the page.
    """
    path = live / MEMORY
    exists = path.is_file() and not path.is_symlink()
    old = path.read_bytes().decode("utf-8", "surrogateescape") if exists else ""
    user_part = user_part_of(old)
    if text is None and not user_part:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        return
    names = " ".join(trace.thread_id for trace in traces)
    stamp = f"<!-- made of {stamp_of(traces)} from {names or 'no traces'} -->"
    body = f"{(text or '# Memory').rstrip()}\n\n{stamp}\n"
    page = page_with_user_part(user_part, body)
    replace_file(path, page.encode("utf-8", "surrogateescape"))


def _remove_other_files(live: Path, skill: str, made: Files) -> None:
    """Remove files that a skill no longer has."""
    for path in sorted((live / SKILLS / skill).rglob("*")):
        name = path.relative_to(live).as_posix()
        if name not in made and not path.is_dir():
            os.unlink(path)
