"""Whether a directory is fit to hold a store: ours, not a link, on a file system that can lock."""

from __future__ import annotations

import contextlib
import os
import stat

from session_memory.atomic_files import make_directory, write_file
from session_memory.errors import Refused

NETWORK = frozenset(
    {
        "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre",
        "fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.gcsfuse", "vboxsf", "prl_fs", "ncpfs",
    }
)  # fmt: skip
"""Where a lock of one host is not seen by another, so that write-ahead logging loses data."""


def check_directory(directory: str) -> None:
    """Refuse a place where others could read, swap or corrupt the store."""
    try:
        info = os.lstat(directory)
    except FileNotFoundError:
        return
    if stat.S_ISLNK(info.st_mode):
        raise Refused(
            f"the store {directory} is a symbolic link",
            hint="name the directory itself with store.path or SESSION_MEMORY_HOME",
        )
    if hasattr(os, "getuid") and info.st_uid != os.getuid():
        raise Refused(
            f"the store {directory} belongs to user {info.st_uid}, not to you",
            hint="use a directory of your own; another user's store is never opened",
        )
    kind = file_system(directory)
    if kind in NETWORK:
        raise Refused(
            f"the store {directory} is on a network file system ({kind})",
            hint="set store.path to a local disk: SQLite's log is not safe over a network",
        )


def file_system(path: str, mounts: str = "/proc/self/mounts") -> str | None:
    """The kind of file system a path is on, where the system says it; None elsewhere."""
    try:
        with open(mounts, encoding="utf-8", errors="replace") as file:
            lines = [line.split() for line in file]
    except OSError:
        return None
    real = os.path.realpath(path)
    best, kind = "", None
    for fields in lines:
        if len(fields) < 3:
            continue
        point = fields[1].replace("\\040", " ")
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):  # a later mount on the same point hides the earlier
            best, kind = point, fields[2]
    return kind


BACKED_UP = (
    *("forget-marks.json", "pauses.json", "catalog", "trials.json", "given.json"),
    *("distribution.json", "audit.jsonl", "memories", "journal"),
)
"""What belongs to a store but is not in its database: a backup takes it along."""


def files_to_back_up(directory: str) -> list[str]:
    """The files that lie next to the database and belong to it."""
    paths: list[str] = []
    for name in BACKED_UP:
        path = os.path.join(directory, name)
        if os.path.isfile(path):
            paths.append(path)
        for folder, _, names in os.walk(path):
            paths += [os.path.join(folder, name) for name in names]
    return paths


def copy_files(directory: str, target: str) -> int:
    """Copy the files next to the database, private as everything and durable; returns bytes."""
    total = 0
    for path in files_to_back_up(directory):
        into = os.path.join(target, os.path.relpath(path, directory))
        make_directory(os.path.dirname(into))
        with contextlib.suppress(FileNotFoundError):  # another process may replace or remove it
            with open(path, "rb") as file:
                data = file.read()
            write_file(into, data)
            total += len(data)
    return total
