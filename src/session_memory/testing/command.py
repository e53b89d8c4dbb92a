"""Runs a command in this process as if in one of its own, which saves starting an interpreter."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping
from pathlib import Path

from session_memory.__main__ import main

_IN_USE = threading.Lock()


def run_command(
    *arguments: str,
    environ: Mapping[str, str] | None = None,
    directory: Path | None = None,
    stdin: bytes = b"",
) -> subprocess.CompletedProcess[str]:
    """Run `session-memory` with these arguments; the exit code, and what it printed.

    Where the process itself is what a test is about (it is killed, two run at the same time, it
    must not import something), start a real one.
    """
    if not _IN_USE.acquire(blocking=False):
        raise RuntimeError("a process has one directory and one environment: start a real one")
    out, err = _stream(), _stream()
    try:
        with (
            _process_state(environ, directory, stdin),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            code = main(arguments)
    finally:
        _IN_USE.release()
    return subprocess.CompletedProcess(arguments, code, _text(out), _text(err))


def _stream(content: bytes = b"") -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="")


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


@contextlib.contextmanager
def _process_state(
    environ: Mapping[str, str] | None, directory: Path | None, stdin: bytes
) -> Generator[None]:
    """Environment, directory and input of a process; restored afterwards."""
    before = (dict(os.environ), os.getcwd(), sys.stdin)
    umask = os.umask(0o077)  # as `main` sets it
    try:
        if environ is not None:
            _set_environ(environ)
        if directory is not None:
            os.chdir(directory)
        sys.stdin = _stream(stdin)
        yield
    finally:
        os.umask(umask)
        _set_environ(before[0])
        os.chdir(before[1])
        sys.stdin = before[2]


def _set_environ(environ: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environ)
