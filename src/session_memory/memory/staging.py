"""The staging folder of a consolidation: a copy next to the live folder, deleted at the end."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Collection
from pathlib import Path

from session_memory.atomic_files import replace_file
from session_memory.memory.layout import MEMORY, SKILLS, SUMMARY, TRACES
from session_memory.memory.traces import thread_of
from session_memory.paths import open_private, private_dir
from session_memory.store.memories import Trace

PREFIX = "staging-"
OUTPUTS = (MEMORY, "consolidated.md", SKILLS)
TITLE = "# Memory Summary"
LEAD = "Map of concise summaries to trace IDs (latest first):"
NOTHING = "No memory traces yet."
_COPIED_BYTES = 4 * 1024 * 1024

Warn = Callable[[str, str], None]
"""Takes what went wrong and the path it concerns."""


def prune(traces_folder: Path, keep: Collection[str], warn: Warn) -> int:
    """Remove the files of other traces than those to keep; returns how many."""
    removed = 0
    for name in sorted(os.listdir(traces_folder)):
        thread = thread_of(name)
        if thread is None or thread in keep:
            continue
        try:
            os.unlink(traces_folder / name)
            removed += 1
        except OSError as error:
            warn(f"cannot remove an old trace: {error.strerror}", str(traces_folder / name))
    return removed


def summary_page(traces: Collection[Trace]) -> str:
    """memory_summary.md: one line per trace, newest first."""
    if not traces:
        return f"{TITLE}\n\n{NOTHING}\n"
    lines = [
        f"- {' '.join(trace.memory_summary.split())} (trace: `{trace.thread_id}`)"
        for trace in traces
    ]
    return f"{TITLE}\n\n{LEAD}\n\n" + "\n".join(lines) + "\n"


def write_summary(live: Path, traces: Collection[Trace]) -> None:
    """Write the summary if it changed."""
    data = summary_page(traces).encode("utf-8", "replace")
    path = live / SUMMARY
    if path.is_symlink() or not path.is_file() or path.read_bytes() != data:
        replace_file(path, data)


def staging_of(live: Path, token: str) -> Path:
    """The staging folder of a run."""
    return live.parent / f"{PREFIX}{token}"


def leftovers(live: Path) -> list[Path]:
    """What killed runs left in and next to a memory."""
    paths = [*live.parent.glob(f"{PREFIX}*"), *live.glob("*.new"), *live.glob(f"{TRACES}/*.new")]
    return sorted(paths)


def clear_leftovers(live: Path, warn: Warn) -> None:
    """Remove what killed runs left."""
    for path in leftovers(live):
        discard(path, warn)


def discard(path: Path, warn: Warn) -> None:
    """Remove a file or folder; a failure is a warning, since the next run tries again."""
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            os.unlink(path)
    except FileNotFoundError:
        return
    except OSError as error:
        warn(f"cannot remove: {error.strerror}", str(path))


def stage(live: Path, staging: Path, warn: Warn) -> None:
    """Copy a memory into a new folder, without its outputs."""
    private_dir(staging)
    for walked, folders, names in os.walk(live):
        directory = Path(walked)
        folders[:] = [name for name in folders if not (directory / name).is_symlink()]
        target = private_dir(staging / directory.relative_to(live))
        for name in names:
            source = directory / name
            if source.is_symlink() or not source.is_file() or name.startswith("."):
                continue
            with source.open("rb") as read, open_private(target / name, "wb") as written:
                written.write(read.read(_COPIED_BYTES))
    wipe_outputs(staging, warn)


def wipe_outputs(folder: Path, warn: Warn) -> None:
    """Remove what earlier consolidations made, but not the traces and their summary."""
    for name in OUTPUTS:
        discard(folder / name, warn)
