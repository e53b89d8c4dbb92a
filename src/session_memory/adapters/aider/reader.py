"""Aider's runs: finds the chat histories below a folder and splits them at each start.

Each run is a source of its own, so that one which is cut out of its file, or comes with a clone of
the repository, neither takes anything with it nor counts twice.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator

import msgspec

from session_memory.adapters.aider import AGENT
from session_memory.adapters.aider.runs import HEADER, emit, local_time
from session_memory.adapters.common import LINE_CAP, IsKnown, SourceFile, has_vanished, unreadable
from session_memory.adapters.whole_log import Line, made_lines_adapter
from session_memory.core.hashing import blake2b
from session_memory.plain_files import UnfitFile, open_plain, read_plain

HISTORY = ".aider.chat.history.md"
DEPTH = 6
"""How many folders below the one that was named are looked into: a home may hold millions."""
_SKIP = frozenset({"node_modules", "venv", "site-packages", "target", "dist", "build"})
_START = re.compile(rb"(?m)^(?:\xef\xbb\xbf)?" + HEADER.encode() + rb"[^\n]*\n")
_FIRST_PROMPT = re.compile(rb"(?m)^####[^\n]*\n")
_BEGUN = b"# aider chat started at "


def discover(root: str, is_known: IsKnown | None = None) -> Iterator[SourceFile]:
    """Every run in every history below a folder; with `is_known`, also the histories."""
    for path in _histories(root, DEPTH):
        try:
            if is_known is None:
                yield from _runs(path)
            elif not is_known(whole := _container(path)):
                yield from _runs(path)
                yield whole
        except OSError as error:
            if not has_vanished(error, path):
                yield unreadable(path)


def _container(path: str) -> SourceFile:
    info = os.stat(path)
    times = (info.st_mtime_ns, info.st_ctime_ns)
    place = (info.st_dev, info.st_ino)
    return SourceFile(path, info.st_size, *times, *place, is_container=True)


def _histories(folder: str, depth: int) -> Iterator[str]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return  # one of many folders of code: not everyone may be listed
    for entry in entries:
        if entry.name == HISTORY:
            yield entry.path
        elif depth and _is_searched(entry):
            yield from _histories(entry.path, depth - 1)


def _is_searched(entry: os.DirEntry[str]) -> bool:
    hidden = entry.name.startswith(".") or entry.name in _SKIP
    return not hidden and entry.is_dir(follow_symlinks=False)


def _runs(path: str) -> Iterator[SourceFile]:
    data = read_plain(path, LINE_CAP)
    starts = [match.start() for match in _START.finditer(data)]
    if _has_lost_start(data[: starts[0]] if starts else data):
        starts.insert(0, 0)
    if not starts:
        begun = data.strip().removeprefix(b"\xef\xbb\xbf")
        if begun and not (begun.startswith(_BEGUN) or _BEGUN.startswith(begun)):
            yield unreadable(path)
        return
    info = os.stat(path)
    seen: Counter[str] = Counter()
    for start, end in zip(starts, [*starts[1:], len(data)], strict=True):
        run = data[start:end]
        name = _name_of(run, seen)
        mark = int.from_bytes(blake2b(run, digest_size=8).digest(), "big") >> 1
        yield SourceFile(
            path=f"{path}#{start}{name and f'-{name}'}",
            size=end - start,
            mtime_ns=info.st_mtime_ns if end == len(data) else 0,  # the others were written before
            ctime_ns=mark,
            device=info.st_dev,
            inode=info.st_ino,
        )


def _has_lost_start(text: bytes) -> bool:
    """Whether a text before all starts is a run whose own start was damaged."""
    return _FIRST_PROMPT.search(text) is not None


def _name_of(run: bytes, seen: Counter[str]) -> str:
    """An id that a run has in every clone: its start and all up to its first prompt.

    A run without a prompt has none.
    """
    prompt = _FIRST_PROMPT.search(run)
    if prompt is None:
        return ""
    opening = run[: prompt.end()].replace(b"\r\n", b"\n")
    start = _START.match(run)
    digits = re.sub(rb"\D", b"", start[0])[:14].decode() if start else ""
    when = f"{digits[:8]}-{digits[8:]}" if digits else "unknown-start"
    name = f"{when}-{blake2b(opening, digest_size=6).hexdigest()}"
    seen[name] += 1
    return name if seen[name] == 1 else f"{name}-{seen[name]}"


def lines(file: SourceFile, cap: int) -> Iterator[Line]:
    """What is known of the run, then the lines of its text; not one that is still being written."""
    if file.size < 0:
        read_plain(file.path, LINE_CAP)  # fails with the reason, where it cannot be read
        raise UnfitFile("no run of Aider in it")
    path, _, place = file.path.rpartition("#")
    if file.size > cap:
        yield None
        return
    start, _, name = place.partition("-")
    with open_plain(path) as stream:
        stream.seek(int(start))
        run = stream.read(file.size)
    start_line = _START.match(run)
    if start_line is None and not _has_lost_start(run):
        raise OSError("it changed while it was read; the next sweep reads it again")
    *whole, _ = run.split(b"\n")
    folder = os.path.dirname(os.path.abspath(path))
    started = local_time(whole[0].decode("utf-8", "replace"))
    yield msgspec.json.encode({"run": name, "folder": folder, "started": started})
    for line in whole[1 if start_line else 0 :]:
        yield msgspec.json.encode({"line": line.decode("utf-8", "replace").removesuffix("\r")})


ADAPTER = made_lines_adapter(
    AGENT, discover=discover, lines=lines, emit=emit, discover_changed=discover
)
