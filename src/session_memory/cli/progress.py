"""One line on stderr that says how far a long step is, how fast it goes and how long it takes."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

import msgspec

from session_memory.cli.terminal import cut
from session_memory.core.text.human_bytes import human_bytes
from session_memory.core.text.safe_text import one_line

if TYPE_CHECKING:
    from threading import Event

Advance = Callable[[int, int, str], None]
QUIET_S = 1.0
"""Work that takes less time shows no progress."""
REDRAW_S = 0.2


class Step(msgspec.Struct, frozen=True):
    """How far a step is."""

    done: int = 0
    total: int = 0
    name: str = ""


def human_span(seconds: float) -> str:
    """A span of time as one or two short words."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def progress_line(step: Step, seconds: float, amount: Callable[[int], str]) -> str:
    """Share, amount, rate, remaining time, and what is being read."""
    name = one_line(step.name)
    if not step.total:
        parts = ["working", human_span(seconds), name]
    else:
        share = min(step.done / step.total, 1)
        done, _, unit = amount(step.done).rpartition(" ")
        total = amount(step.total)
        part = done if total.endswith(f" {unit}") else f"{done} {unit}"
        parts = [f"{share:4.0%}", f"{part} of {total}"]
        if step.done and seconds:
            rate = step.done / seconds
            parts.append(f"{amount(round(rate))}/s" if rate >= 1 else f"{rate:.1f}/s")
            parts.append(f"{human_span(max(step.total - step.done, 0) / rate)} left")
        parts.append(name)
    return "  ".join(part for part in parts if part)


@contextmanager
def byte_progress(*, shown: bool) -> Generator[Advance]:
    """Progress for (bytes done, bytes in all, file)."""
    with _progress(human_bytes, shown=shown) as advance:
        yield advance


@contextmanager
def count_progress(noun: str, *, shown: bool) -> Generator[Advance]:
    """Progress for (things done, things in all, the present one), such as sessions."""

    def amount(count: int) -> str:
        return f"{count:,} {noun}"

    with _progress(amount, shown=shown) as advance:
        yield advance


@contextmanager
def _progress(amount: Callable[[int], str], *, shown: bool) -> Generator[Advance]:
    """Without a terminal that can rewrite its line, nothing is shown."""
    if not shown or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda _done, _total, _name: None
        return
    import threading  # only a person at a terminal needs it

    line = _Line(sys.stderr, amount, threading.Event())
    thread = threading.Thread(target=line.redraw, daemon=True)
    thread.start()
    try:
        yield line.advance
    finally:
        line.ended.set()
        thread.join()


class _Line:
    """Redrawn by its own thread: a step that reports nothing for long still shows its time."""

    def __init__(self, stream: TextIO, amount: Callable[[int], str], ended: Event) -> None:
        self._stream, self._amount, self.ended = stream, amount, ended
        self._started = time.monotonic()
        self._step = Step()

    def advance(self, done: int, total: int, name: str) -> None:
        """Remember how far it is."""
        self._step = Step(done, total, name)

    def redraw(self) -> None:
        """Draw until it has ended, then leave the line empty."""
        import shutil

        if self.ended.wait(QUIET_S):
            return
        while True:
            room = shutil.get_terminal_size().columns - 1
            text = progress_line(self._step, time.monotonic() - self._started, self._amount)
            self._write(f"\r{cut(text, room):{room}}")
            if self.ended.wait(REDRAW_S):
                self._write(f"\r{'':{room}}\r")
                return

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError, UnicodeError):  # the terminal has gone, or shows ASCII alone
            self.ended.set()
