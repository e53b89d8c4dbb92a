"""Which log files there are, per flavour, and which of them changed since they were read."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from session_memory.adapters.common import Adapter, IsKnown, SourceFile
from session_memory.adapters.registry import homes, usual_places
from session_memory.core.cursor import Stamp
from session_memory.file_names import name_to_text
from session_memory.ingest.context import SweepContext
from session_memory.ingest.report import Steps, SweepReport
from session_memory.settings import Sources

if TYPE_CHECKING:
    from session_memory.store.port import Store

SMALL = 16 * 1024
"""Reading less than this is faster than handing it to another process."""


class LogFolders(msgspec.Struct):
    """Where a flavour's logs are looked for."""

    adapter: Adapter
    roots: list[str]
    """Directories that exist."""
    looked_in: list[str]


class ChangedFiles(msgspec.Struct):
    """Files of one flavour that have something new."""

    folders: LogFolders
    files: list[SourceFile]
    containers: list[SourceFile] = []
    """Files that hold sessions which are sources of their own, to be noted once those are read."""
    first_time: bool = False
    """Whether nothing of this flavour was ever read before."""
    bytes_waiting: int = 0
    """About how much has to be read, in files that have more than a little."""

    @property
    def adapter(self) -> Adapter:
        """The flavour's record."""
        return self.folders.adapter

    def count(self, new_bytes: int) -> None:
        """Count what is new in one file."""
        if new_bytes >= SMALL:
            self.bytes_waiting += new_bytes


def log_folders(
    adapters: Mapping[str, Adapter], sources: Sources, environ: Mapping[str, str], home: str
) -> list[LogFolders]:
    """The homes of every enabled flavour; what the user configured replaces the defaults."""
    folders: list[LogFolders] = []
    for adapter in adapters.values():
        source = sources.of(adapter.name)
        if not source.enabled:
            continue
        configured = homes(adapter, environ, home, list(source.paths) or None)
        usual = usual_places(adapter.default_dirs, environ, home)
        roots = [path for path in configured if os.path.isdir(path)]
        folders.append(LogFolders(adapter, roots, configured or usual))
    return folders


def discover(
    folders: LogFolders,
    exclude: tuple[str, ...],
    named: Sequence[str] = (),
    is_unchanged: IsKnown | None = None,
) -> Iterator[SourceFile]:
    """Every log file of a flavour, excluded ones left out; `named` ones may lie anywhere.

    With `is_unchanged`, without the sessions of containers that are unchanged.
    """
    adapter = folders.adapter
    if not (exclude or named):  # the usual case: do no work per file, there may be ten thousand
        for root in folders.roots:
            if is_unchanged is not None and adapter.discover_changed is not None:
                yield from adapter.discover_changed(root, is_unchanged)
            else:
                yield from adapter.discover(root)
        return
    from session_memory.narrowing import is_excluded  # 3 ms that most sweeps do not need

    remaining = {os.path.realpath(path) for path in named if "\0" not in path}
    for root in folders.roots:
        for file in adapter.discover(root):
            if not (exclude and is_excluded(file.path, exclude)):
                if remaining:
                    remaining.discard(os.path.realpath(file.path))
                yield file
    for path in sorted(remaining):  # only the file itself: its folder may be the whole disk
        file = adapter.named(path)
        if file is not None and not is_excluded(file.path, exclude):
            yield file


def stamp_of(file: SourceFile) -> Stamp:
    """Values that stay equal as long as the file is not changed."""
    return (file.device, file.inode, file.size, file.mtime_ns, file.ctime_ns)


def find_changed(
    context: SweepContext, report: SweepReport, store: Store | None
) -> list[ChangedFiles]:
    """Discover every flavour's files and select those whose stamp or parser is new."""
    steps = Steps(store, report, context.clock)
    changed: list[ChangedFiles] = []
    sources = context.config.sources
    for folders in log_folders(context.adapters, sources, context.environ, context.home):
        report.looked_in.extend(map(name_to_text, folders.looked_in))
        group = ChangedFiles(folders, [])
        select = partial(_select_changed, context, report, store, group)
        steps.attempt("discover", folders.adapter.name, select)
        if folders.roots:
            name = folders.adapter.name
            counted = f"{report.flavors.get(name, 0)} files, {len(group.files)} new or changed"
            context.log(f"discover {name}: {counted}, in {', '.join(folders.roots)}")
        changed.append(group)
    return changed


def _select_changed(
    context: SweepContext, report: SweepReport, store: Store | None, group: ChangedFiles
) -> None:
    """Fill a group; files selected before something fails are kept."""
    adapter, files = group.adapter, group.files
    stamps = store.stamps(adapter.name) if store else {}
    holders = {path.rpartition("#")[0] for path in stamps if adapter.discover_changed}
    first_time, version, discovered = not stamps, adapter.parser_version, 0
    named = context.named.get(adapter.name, [])
    unchanged: list[str] = []

    def is_unchanged(container: SourceFile) -> bool:
        path = name_to_text(container.path)
        same = stamps.get(path) == (stamp_of(container), version)
        if same:
            unchanged.append(path)
        return same

    try:
        exclude = context.config.sources.exclude_paths
        for file in discover(group.folders, exclude, named, is_unchanged):
            path = name_to_text(file.path)
            last_read = stamps.pop(path, None)
            if file.is_container:
                group.containers.append(file)
                continue
            discovered += 1
            if last_read == (stamp_of(file), version):
                if context.verbosity > 1:
                    context.log(f"skip {path}: unchanged")
                continue
            if last_read is None and store and store.is_forgotten_source(path, stamp_of(file)):
                if context.verbosity > 1:
                    context.log(f"skip {path}: its sessions were forgotten")
                continue
            files.append(file)
            read_before = last_read[0][2] if last_read and last_read[1] == version else 0
            group.count(file.size - max(0, read_before))
        left = [path for path in stamps if "#" in path or path not in holders]
        unlisted = sum(path.rpartition("#")[0] in unchanged for path in left)
        discovered += unlisted
        report.vanished += len(left) - unlisted
    finally:
        report.discovered += discovered
        report.skipped_unchanged += discovered - len(files)
        report.flavors[adapter.name] = discovered
        group.first_time = first_time and bool(files)
