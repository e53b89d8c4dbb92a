"""Runs a program at a pseudo-terminal and gives back the screen as a person would see it."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from session_memory.cli.terminal import width

ROWS = 40
PATIENCE_S = 30.0
INTERRUPT = "\x03"
"""As an answer: what Ctrl-C does."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Seen(NamedTuple):
    """What the program printed at a terminal of this width, and how it ended."""

    raw: str
    code: int
    columns: int

    @property
    def screen(self) -> str:
        """What a person saw."""
        return screen(self.raw, self.columns)


class Seat(NamedTuple):
    """Where and how wide."""

    environ: Mapping[str, str]
    folder: Path
    columns: int = 80


def at_terminal(
    seat: Seat, command: Sequence[str], answers: Sequence[tuple[str, str]] = ()
) -> Seen:
    """Run a command; each answer is typed once its prompt is on the screen."""
    # The size is the terminal's own: these would overrule it, and pytest-xdist sets them.
    environ = {k: v for k, v in seat.environ.items() if k not in ("COLUMNS", "LINES")}
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, seat.columns, 0, 0))
    with subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environ,
        cwd=seat.folder,
        start_new_session=True,
        preexec_fn=_hear_interrupts,  # noqa: PLW1509  # one call
    ) as process:
        os.close(theirs)
        try:
            raw = _talk(ours, list(answers), process.pid)
            code = process.wait(PATIENCE_S)
        finally:
            process.kill()
            os.close(ours)
    return Seen(raw, code, seat.columns)


def _hear_interrupts() -> None:
    """Whoever runs the tests in the background ignores Ctrl-C, and so would the program."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _talk(terminal: int, answers: list[tuple[str, str]], pid: int) -> str:
    """Everything the program prints, until it closes the terminal."""
    raw, read_to, end, interrupted = b"", 0, time.monotonic() + PATIENCE_S, False
    while time.monotonic() < end:
        ready, _, _ = select.select([terminal], [], [], 1)
        if not ready:
            if interrupted:  # a signal just before a read begins does not end that read
                os.kill(pid, signal.SIGINT)
            continue
        try:
            part = os.read(terminal, 65536)
        except OSError:  # Linux says so when the other end is closed
            part = b""
        if not part:
            return raw.decode()
        raw += part
        if answers and (at := raw.find(answers[0][0].encode(), read_to)) >= 0:
            read_to = at + len(answers[0][0])
            answer = answers.pop(0)[1]
            if answer == INTERRUPT:
                os.kill(pid, signal.SIGINT)
                interrupted = True
            else:
                os.write(terminal, answer.encode())
    raise AssertionError(f"no end in sight; so far: {raw.decode()!r}")


def screen(raw: str, columns: int) -> str:
    """The lines on a terminal of this width: colours off, overwritten and wrapped lines as seen."""
    lines: list[str] = []
    for line in _COLOUR.sub("", raw).replace("\r\n", "\n").split("\n"):
        seen = ""
        for part in line.split("\r"):  # a part overwrites what stood there
            seen = part + seen[len(part) :]
        assert "\x1b" not in seen, f"an escape that is no colour: {seen!r}"
        lines += _wrapped(seen.rstrip(), columns)
    return "\n".join(lines).rstrip("\n") + "\n"


def _wrapped(line: str, columns: int) -> list[str]:
    """As the terminal itself breaks it: anywhere."""
    lines = [""]
    for character in line:
        if width(lines[-1]) + width(character) > columns:
            lines.append("")
        lines[-1] += character
    return lines
