"""What a backup is on disk: a store of its own, with a manifest that names every file and its hash.

A backup is made under a temporary name next to its target and renamed when it is whole and checked.
So a target is complete or absent. What a kill leaves is `TARGET.partial-backup`, which the next
backup to the same target removes; where an older backup is replaced it stays until the new one is
whole, for the moment between two renames as `TARGET.old-backup`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Generator, Iterator

import msgspec

from session_memory import __version__
from session_memory.atomic_files import flush_directory, make_directory, write_file
from session_memory.core.hashing import blake2b
from session_memory.errors import NotFound, Refused, StoreDamaged, StoreError, StoreLocked
from session_memory.store.lock import exclusive
from session_memory.store.segments import DIGEST_SIZE

MANIFEST = "backup.json"
KIND = "session-memory store backup"
FORMAT = 1
PARTIAL = ".partial-backup"
REPLACED = ".old-backup"
OURS = "session-memory-backup-in-progress"
"""A file that is in a partial backup before anything else, so that nothing else is removed."""

_CHUNK = 1024 * 1024

Progress = Callable[[int, int, str], None]
"""(bytes done, bytes in all, file)."""


def unseen(_done: int, _total: int, _file: str) -> None:
    """Progress that is not shown."""


class Copied(msgspec.Struct, frozen=True):
    """One file of a backup."""

    name: str
    """Below the backup's directory, with `/` between its parts."""
    bytes: int
    digest: str


class Manifest(msgspec.Struct, frozen=True):
    """Everything a backup holds."""

    kind: str
    format: int
    version: str
    """Of the program that made it."""
    schema: int
    made_at: int
    files: tuple[Copied, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.bytes for file in self.files)


class _Head(msgspec.Struct):
    kind: str
    format: int
    version: str = "?"


def read_manifest(directory: str) -> Manifest | None:
    """The manifest of a backup; None where an older program made it, or where it is a store."""
    path = os.path.join(directory, MANIFEST)
    try:
        with open(path, "rb") as file:
            data = file.read()
        head = msgspec.json.decode(data, type=_Head)
        if head.kind != KIND:
            raise StoreDamaged(f"{path} is not the manifest of a backup")
        if head.format > FORMAT:
            raise Refused(
                f"a newer session-memory ({head.version}) made the backup {directory}",
                hint="upgrade session-memory, then try again",
            )
        return msgspec.json.decode(data, type=Manifest)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise StoreDamaged(f"{path} is damaged: {error}", hint="use another backup") from None


def write_manifest(directory: str, schema: int, now_ms: int, progress: Progress) -> Manifest:
    """List every file of a backup with its hash, read back from the disk."""
    names = sorted(name for name in _files(directory) if name not in (OURS, MANIFEST))
    sizes = {name: os.path.getsize(os.path.join(directory, name)) for name in names}
    files: list[Copied] = []
    done, total = 0, sum(sizes.values())
    for name in names:
        progress(done, total, f"checking {name}")
        files.append(Copied(name, *_look(os.path.join(directory, name))))
        done += sizes[name]
    manifest = Manifest(KIND, FORMAT, __version__, schema, now_ms, tuple(files))
    write_file(os.path.join(directory, MANIFEST), msgspec.json.encode(manifest))
    return manifest


def check_files(directory: str, manifest: Manifest, progress: Progress) -> Iterator[str]:
    """What differs from the manifest, in words; nothing when every byte is as it was written."""
    done, total = 0, manifest.size
    for file in manifest.files:
        progress(done, total, f"checking {file.name}")
        done += file.bytes
        try:
            present = _look(os.path.join(directory, *file.name.split("/")))
        except FileNotFoundError:
            yield f"{file.name} is missing"
            continue
        except OSError as error:
            yield f"{file.name} cannot be read: {error.strerror}"
            continue
        if present[0] != file.bytes:
            yield f"{file.name} has {present[0]} bytes instead of {file.bytes}"
        elif present[1] != file.digest:
            yield f"{file.name} has changed"
    wal = os.path.join(directory, "store.db-wal")
    if os.path.exists(wal) and os.path.getsize(wal):
        yield "store.db-wal is there: somebody wrote to this backup"


def _look(path: str) -> tuple[int, str]:
    """Size and hash of a file; the hash is the one that a segment's row keeps."""
    size, seen = 0, blake2b(digest_size=DIGEST_SIZE)
    with open(path, "rb") as file:
        while data := file.read(_CHUNK):
            seen.update(data)
            size += len(data)
    return size, seen.hexdigest()


def _files(directory: str) -> Iterator[str]:
    for folder, _, names in os.walk(directory):
        inside = os.path.relpath(folder, directory)
        for name in names:
            yield name if inside == "." else f"{inside.replace(os.sep, '/')}/{name}"


# where a backup goes


def check_target(target: str, store: str, *, replace: bool) -> None:
    """Refuse a target that would overwrite something, or that lies in the store itself."""
    real, inside = os.path.realpath(target), os.path.realpath(store)
    if real == inside or real.startswith(inside + os.sep):
        raise Refused(f"{target} is inside the store", hint="name a directory outside of it")
    if os.path.islink(target):
        raise Refused(f"{target} is a symbolic link", hint="name the directory itself")
    if os.path.ismount(target):
        raise Refused(f"{target} is a mount point", hint="name a new directory inside it")
    if not os.path.lexists(target):
        return
    if not os.path.isdir(target):
        raise Refused(f"{target} is a file", hint="name a new directory for the backup")
    if not os.listdir(target):
        return
    if not os.path.exists(os.path.join(target, MANIFEST)):
        raise Refused(
            f"{target} is not empty and not a backup", hint="name a new directory for the backup"
        )
    if not replace:
        raise Refused(
            f"{target} holds a backup already",
            hint="name a new directory, or add --replace: the old one stays until the new is whole",
        )


@contextlib.contextmanager
def building(target: str) -> Generator[str]:
    """A private temporary directory next to the target; renamed to it when the block ends well."""
    partial = target + PARTIAL
    try:
        make_directory(os.path.dirname(target))
        _drop_partial(partial)
        os.mkdir(partial, 0o700)
    except OSError as error:
        raise cannot_write(target, error) from error
    with _exclusive_backup(partial, target):
        try:
            write_file(os.path.join(partial, OURS), b"")
            yield partial
            os.unlink(os.path.join(partial, OURS))
            flush_directory(partial)
            _put_in_place(partial, target)
        except OSError as error:
            shutil.rmtree(partial, ignore_errors=True)
            raise cannot_write(target, error) from error
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
    shutil.rmtree(target + REPLACED, ignore_errors=True)


@contextlib.contextmanager
def _exclusive_backup(partial: str, target: str) -> Generator[None]:
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(exclusive(partial, "a backup"))
        except StoreLocked:
            raise StoreLocked(
                f"another backup to {target} is running", hint="wait for it, then try again"
            ) from None
        yield


def _drop_partial(partial: str) -> None:
    """Remove what a killed backup left here; anything else is not ours to remove."""
    if not os.path.lexists(partial):
        return
    if os.path.islink(partial) or not os.path.isdir(partial):
        raise Refused(f"{partial} is in the way", hint="move it away")
    names = os.listdir(partial)
    if names and not {OURS, MANIFEST} & set(names):
        raise Refused(f"{partial} exists and is no backup of ours", hint="move it away")
    with _exclusive_backup(partial, partial.removesuffix(PARTIAL)):
        shutil.rmtree(partial)


def _put_in_place(partial: str, target: str) -> None:
    if os.path.lexists(target):
        shutil.rmtree(target + REPLACED, ignore_errors=True)
        os.replace(target, target + REPLACED)
    try:
        os.replace(partial, target)
    except OSError:
        if os.path.isdir(target + REPLACED):
            os.replace(target + REPLACED, target)
        raise
    flush_directory(os.path.dirname(target))


def cannot_write(target: str, error: OSError) -> StoreError:
    """The error for a target that cannot be written."""
    return StoreError(
        f"cannot write the backup {target}: {error.strerror or error}",
        hint="no backup was made and the store is as it was; free space, or name another place",
    )


def check_space(target: str, needed: int) -> None:
    """Say at once that a backup does not fit, rather than after writing most of it."""
    parent = os.path.dirname(target)
    while not os.path.exists(parent):
        parent = os.path.dirname(parent)
    free = shutil.disk_usage(parent).free
    if free < needed:
        raise StoreError(
            f"the backup needs {needed >> 20} MiB and {parent} has {free >> 20} MiB free",
            hint="free space, or name a place on another disk",
        )


def missing(directory: str) -> NotFound:
    """The error for a backup that does not exist."""
    old = directory + REPLACED
    hint = "name the directory that `session-memory store backup` wrote"
    if os.path.isdir(old):
        hint = f"a backup that was interrupted left the older one as {old}: name that"
    return NotFound(f"there is no backup at {directory}", hint=hint)
