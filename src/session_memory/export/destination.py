"""Where an export may go: a new place, where nothing of the user is overwritten or opened up."""

from __future__ import annotations

from pathlib import Path

from session_memory.errors import NotFound, Refused
from session_memory.paths import private_dir


def prepare_directory(path: Path) -> Path:
    """A directory of ours alone; an existing one must be empty."""
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise Refused(f"{path} is not an empty directory", hint="name a new one for the export")
    return private_dir(path)


def prepare_file(path: Path) -> Path:
    """A new file in a directory that is there."""
    if not path.parent.is_dir():
        raise NotFound(f"there is no directory {path.parent}", hint="make it first")
    if path.exists() or path.is_symlink():
        raise Refused(f"{path} is there already", hint="name a new file for the export")
    return path
