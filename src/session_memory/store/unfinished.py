"""A mark next to the store while something is being written or deleted.

Files are written before their rows and deleted after them, so work that is cut off can leave files
without rows. The mark makes the next sweep look for them; without it, a sweep need not.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator

from session_memory.atomic_files import flush_directory
from session_memory.errors import DISK_HINT, StoreError

NAME = "sweep.unfinished"


def is_marked(directory: str) -> bool:
    """Whether the last piece of work never ended."""
    return os.path.exists(os.path.join(directory, NAME))


def mark(directory: str) -> None:
    """Mark that work is under way."""
    if is_marked(directory):
        return
    try:
        os.close(os.open(os.path.join(directory, NAME), os.O_CREAT | os.O_WRONLY, 0o600))
        flush_directory(directory)  # files without rows may outlive a power cut: so must the mark
    except OSError as error:
        raise StoreError(f"cannot write to {directory}: {error}", hint=DISK_HINT) from error


def clear(directory: str) -> None:
    """Remove the mark: the work is complete."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(directory, NAME))


@contextlib.contextmanager
def marked(directory: str) -> Generator[None]:
    """Keep the mark for the length of the block; it stays when the block fails.

    It also stays when it was there before: only a sweep looks for what earlier work left behind.
    """
    was_marked = is_marked(directory)
    mark(directory)
    yield
    if not was_marked:
        clear(directory)
