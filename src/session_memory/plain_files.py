"""Reading files that others made: regular ones only, so that no pipe or device is waited for."""

from __future__ import annotations

import os
import stat
from typing import BinaryIO

_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)


class UnfitFile(OSError):  # noqa: N818 - named like the errors next to it
    """A pipe, device, folder or link in the place of a file, or a file over its cap.

    Unlike other errors of reading, this one does not pass by itself.
    """


def open_plain(path: str | os.PathLike[str], *, follow: bool = True) -> BinaryIO:
    """Open a regular file for reading; whatever else has that name is refused at once."""
    # Asked before opening, as opening alone can wake the other end of a pipe or rewind a tape; and
    # asked again of what was opened, as it may have been swapped in between.
    info = os.stat(path, follow_symlinks=follow)
    if stat.S_ISDIR(info.st_mode):
        os.scandir(path).close()  # a folder that may not be listed fails with that reason
    _check(info)
    descriptor = os.open(path, _FLAGS | (0 if follow else getattr(os, "O_NOFOLLOW", 0)))
    try:
        _check(os.fstat(descriptor))
        return open(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_plain(path: str | os.PathLike[str], cap: int, *, follow: bool = True) -> bytes:
    """All of a regular file of at most `cap` bytes."""
    with open_plain(path, follow=follow) as file:
        data = file.read(cap + 1)
    if len(data) > cap:
        raise UnfitFile(f"larger than {cap} bytes")
    return data


def _check(info: os.stat_result) -> None:
    if not stat.S_ISREG(info.st_mode):
        kind = "a symbolic link" if stat.S_ISLNK(info.st_mode) else "not a regular file"
        raise UnfitFile(kind)
