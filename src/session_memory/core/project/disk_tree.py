"""The one piece of core that looks at the disk; made by the shell and passed in."""

from __future__ import annotations

import os
from pathlib import Path

from session_memory.core.project.path_shape import is_windows
from session_memory.file_names import name_to_text, text_to_name
from session_memory.plain_files import open_plain


class DiskTree:
    """A `Tree` over this machine's files: what cannot be read is not there.

    Paths come and go as text that can be stored, see `file_names`.
    """

    def is_dir(self, path: str) -> bool:
        return _is_native(path) and os.path.isdir(text_to_name(path))

    def is_file(self, path: str) -> bool:
        return _is_native(path) and os.path.isfile(text_to_name(path))

    def read_text(self, path: str, limit: int) -> str | None:
        """At most `limit` bytes as text; only regular files, as opening a pipe would hang."""
        try:
            if not _is_native(path):
                return None
            with open_plain(text_to_name(path)) as file:
                return file.read(limit).decode("utf-8-sig", "replace")
        except (OSError, ValueError):
            return None

    def real(self, path: str) -> str:
        try:
            if not _is_native(path):
                return path
            return name_to_text(str(Path(text_to_name(path)).resolve()))
        except (OSError, ValueError, RuntimeError):  # RuntimeError: a loop of links, before 3.13
            return path


def _is_native(path: str) -> bool:
    """Whether this machine can know the path; a foreign one would be read relative to our cwd."""
    return is_windows(path) if os.name == "nt" else path.startswith("/")
