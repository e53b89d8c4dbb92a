"""Starts a compile that outlives the flush: detached, speaking into a log of its own."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

from session_memory.journal.paths import Place
from session_memory.paths import open_private, private_dir

COMPILE = "session_memory.journal.compile"


def compile_command(project_root: str) -> list[str] | None:
    """How to compile the journal of a project; None where there is no such program."""
    if find_spec(COMPILE) is None:
        return None
    return [sys.executable, "-m", COMPILE, "--root", project_root]


def spawn(command: list[str], place: Place) -> subprocess.Popen[bytes]:
    """Start a command in a session of its own, at the journal's root; raises OSError.

    The log is closed here in any case: the child has its own handle, and a flush in a worker that
    lives on must not gather open files.
    """
    private_dir(place.root)
    private_dir(place.work)
    with open_private(place.compile_log, "ab") as log:
        if sys.platform == "win32":
            flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS
            return subprocess.Popen(
                command,
                cwd=place.root,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                creationflags=flags,
            )
        return subprocess.Popen(
            command,
            cwd=place.root,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
