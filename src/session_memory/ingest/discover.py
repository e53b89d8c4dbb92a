"""Which log files there are, per flavour, and which of them changed since they were read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from session_memory.adapters.common import Adapter, SourceFile
from session_memory.adapters.registry import homes, usual_places
from session_memory.core.cursor import Stamp
from session_memory.settings import Sources


class Places(msgspec.Struct):
    """Where a flavour's logs were looked for."""

    adapter: Adapter
    roots: list[str]
    """Directories that exist."""
    looked_in: list[str]


def places(
    adapters: Mapping[str, Adapter], sources: Sources, environ: Mapping[str, str], home: str
) -> list[Places]:
    """The homes of every enabled flavour; what the user configured replaces the defaults."""
    found: list[Places] = []
    for adapter in adapters.values():
        source = sources.of(adapter.name)
        if not source.enabled:
            continue
        named = homes(adapter, environ, home, list(source.paths) or None)
        usual = usual_places(adapter.default_dirs, environ, home)
        roots = [path for path in named if os.path.isdir(path)]
        found.append(Places(adapter, roots, named or usual))
    return found


def discover(
    place: Places, exclude: tuple[str, ...], named: Sequence[str] = ()
) -> Iterator[SourceFile]:
    """Every log file of a flavour, excluded ones left out; `named` ones may lie anywhere."""
    if not (exclude or named):  # nearly always: ten thousand files pass through here unlooked at
        for root in place.roots:
            yield from place.adapter.discover(root)
        return
    from session_memory.narrowing import is_excluded  # 3 ms that most sweeps do not need

    wanted = {os.path.realpath(path) for path in named if "\0" not in path}
    for root in place.roots:
        for file in place.adapter.discover(root):
            if not (exclude and is_excluded(file.path, exclude)):
                if wanted:
                    wanted.discard(os.path.realpath(file.path))
                yield file
    for path in sorted(wanted):  # one look at each: what surrounds a named path may be the disk
        file = place.adapter.named(path)
        if file is not None and not is_excluded(file.path, exclude):
            yield file


def stamp_of(file: SourceFile) -> Stamp:
    """The values that are equal as long as nobody touched the file."""
    return (file.device, file.inode, file.size, file.mtime_ns, file.ctime_ns)
