"""Long output on a terminal goes through a pager; anywhere else it is printed as it is."""

from __future__ import annotations

import io
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import TextIO


def pager_command(environ: Mapping[str, str]) -> list[str]:
    """What shows long output: $PAGER, else less; empty where neither can be used."""
    named = environ.get("PAGER", "less -R")
    try:
        words = shlex.split(named)
    except ValueError:
        return []
    if not words or words == ["cat"] or shutil.which(words[0], path=environ.get("PATH")) is None:
        return []
    return words


@contextmanager
def paged(environ: Mapping[str, str], *, wanted: bool) -> Generator[None]:
    """Print to the terminal; once the lines do not fit on the screen, to the pager."""
    off = not wanted or environ.get("NO_PAGER") or environ.get("TERM") == "dumb"
    if off or not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield
        return
    command = pager_command(environ)
    if not command:
        yield
        return
    pages, remarks, errors = _Pages(sys.stdout, command, environ), _Remarks(), sys.stderr
    try:
        with redirect_stdout(pages), redirect_stderr(remarks):
            yield
    finally:
        pages.finish()
        errors.write(remarks.getvalue())


class _Remarks(io.StringIO):
    """Holds output to stderr meanwhile; it would overwrite the pager's screen."""

    def isatty(self) -> bool:
        """As the real one, so that warnings keep their colour."""
        return sys.__stderr__ is not None and sys.__stderr__.isatty()


class _Pages(io.TextIOBase):
    """A terminal as long as the lines fit on it, then the input of a pager."""

    def __init__(self, out: TextIO, command: list[str], environ: Mapping[str, str]) -> None:
        self._out, self._command = out, command
        self._environ = {"LESS": "FRX", **environ}
        self._room = shutil.get_terminal_size().lines - 1
        self._held: list[str] = []
        self._pager: subprocess.Popen[str] | None = None

    @property
    def encoding(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        """That of the terminal."""
        return self._out.encoding

    def writable(self) -> bool:
        """Yes; click asks."""
        return True

    def isatty(self) -> bool:
        """Yes: what is printed keeps its width and its colours."""
        return True

    def write(self, text: str, /) -> int:
        """Hold the text, or pass it on."""
        text = "" + text  # click tries bytes first: the TypeError shows it that this is for text
        if self._pager is not None:
            self._send(text)
            return len(text)
        self._held.append(text)
        self._room -= text.count("\n")
        if self._room < 0:
            held_text, self._held = "".join(self._held), []
            self._pager = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                env=self._environ,
                encoding="utf-8",
                errors="replace",
            )
            self._send(held_text)
        return len(text)

    def _send(self, text: str) -> None:
        assert self._pager is not None and self._pager.stdin is not None
        self._pager.stdin.write(text)

    def finish(self) -> None:
        """Print what fits on the screen, or wait until the reader leaves the pager."""
        if self._pager is None:
            self._out.write("".join(self._held))
            self._out.flush()
            return
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # it stops the pager's search, not us
        try:
            self._pager.communicate()
        except BrokenPipeError:
            self._pager.wait()
        finally:
            signal.signal(signal.SIGINT, before)
