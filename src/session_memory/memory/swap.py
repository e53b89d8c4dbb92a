"""New outputs take the place of the old ones, so that every moment between has a good memory.

New skills come first, then MEMORY.md in one step, then what it no longer names goes. So whichever
MEMORY.md is there, all it links to is there too; a run that dies leaves at most something unused.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

from session_memory.atomic_files import replace_file
from session_memory.memory.layout import MEMORY, REBUILD
from session_memory.memory.outputs import Files, skills_in
from session_memory.memory.skills import SKILLS
from session_memory.memory.user_part import page_of, yours_in
from session_memory.paths import private_dir
from session_memory.store.memories import Trace

READY = "ready"
TRASH = "trash"
_STAMP = re.compile(r"^<!-- made of ([0-9a-f]{16})[^\n]* -->$", re.M)
_RULES = "1"
"""Part of every stamp: raised when the same traces are to give another memory."""


def stamp_of(traces: Sequence[Trace]) -> str:
    """What a memory was made of: equal traces, equal stamp."""
    seen = hashlib.sha256(_RULES.encode())
    for trace in traces:
        fields = (trace.thread_id, str(trace.updated_at), trace.trace_summary, trace.memory_summary)
        seen.update("\0".join(fields).encode("utf-8", "replace"))
    return seen.hexdigest()[:16]


def is_current(live: Path, stamp: str) -> bool:
    """Whether MEMORY.md is made of exactly these traces, and whole."""
    page = live / MEMORY
    if (live / REBUILD).exists() or page.is_symlink() or not page.is_file():
        return False
    text = page.read_text("utf-8", "replace")
    named = _STAMP.search(text)
    there = {path.name for path in (live / SKILLS).glob("*")}
    linked = set(re.findall(rf"\]\({SKILLS}/([a-z0-9-]+)/", text))
    return named is not None and named[1] == stamp and there == linked


def write_ready(staging: Path, made: Files) -> None:
    """Write new skills to disk, durable, before anything live changes."""
    for name, text in made.items():
        if name != MEMORY:
            path = staging / READY / name
            private_dir(path.parent)
            replace_file(path, text.encode("utf-8", "replace"))


def swap(live: Path, staging: Path, made: Files, traces: Sequence[Trace]) -> None:
    """Put outputs in place of the old; called while nobody else can."""
    for name in sorted(made):
        if name != MEMORY:
            private_dir((live / name).parent)
            os.replace(staging / READY / name, live / name)
    _put_page(live, made.get(MEMORY), traces)
    trash = private_dir(staging / TRASH)
    kept = set(skills_in(made))
    stale = [path for path in (live / SKILLS).glob("*") if path.name not in kept]
    stale += [live / "consolidated.md"]
    for number, path in enumerate(stale):
        with contextlib.suppress(FileNotFoundError):
            os.replace(path, trash / str(number))
    for skill in kept:
        _drop_others(live, skill, made)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(live / REBUILD)


def _put_page(live: Path, text: str | None, traces: Sequence[Trace]) -> None:
    """MEMORY.md with what is the user's, byte for byte as it is at this moment.

    Whatever a model wrote, the names of all traces stand in it: so forgetting one finds it.
    """
    path = live / MEMORY
    there = path.is_file() and not path.is_symlink()
    old = path.read_bytes().decode("utf-8", "surrogateescape") if there else ""
    yours = yours_in(old)
    if text is None and not yours:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        return
    names = " ".join(trace.thread_id for trace in traces)
    stamp = f"<!-- made of {stamp_of(traces)} from {names or 'no traces'} -->"
    body = f"{(text or '# Memory').rstrip()}\n\n{stamp}\n"
    replace_file(path, page_of(yours, body).encode("utf-8", "surrogateescape"))


def _drop_others(live: Path, skill: str, made: Files) -> None:
    """Files that a skill no longer has."""
    for path in sorted((live / SKILLS / skill).rglob("*")):
        name = path.relative_to(live).as_posix()
        if name not in made and not path.is_dir():
            os.unlink(path)
