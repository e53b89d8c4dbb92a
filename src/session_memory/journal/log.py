"""flush.log: the only place a flush speaks, as whoever starts it discards its output."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Literal

from session_memory.clock import Clock
from session_memory.core.text.safe_text import one_line, safe
from session_memory.paths import open_private, private_dir

MAX_BYTES = 512 * 1024
Level = Literal["INFO", "WARNING", "ERROR"]


class FlushLog:
    """Lines of local time, level and message; the file before is kept as `flush.log.1`.

    `clean` redacts: messages of others may quote what was asked.
    """

    def __init__(self, path: Path, clock: Clock, clean: Callable[[str], str]) -> None:
        self._path = path
        self._clock = clock
        self._clean = clean

    def info(self, message: str) -> None:
        """Something went as it should."""
        self._write("INFO", message)

    def warning(self, message: str) -> None:
        """Something went wrong and is made good."""
        self._write("WARNING", message)

    def error(self, message: str, *, cause: BaseException | None = None) -> None:
        """Something went wrong; with its cause, where that was raised."""
        self._write("ERROR", message, cause)

    def _write(self, level: Level, message: str, error: BaseException | None = None) -> None:
        private_dir(self._path.parent)
        if self._path.exists() and self._path.stat().st_size > MAX_BYTES:
            self._path.replace(self._path.with_name(f"{self._path.name}.1"))
        moment = datetime.fromtimestamp(self._clock() / 1000).strftime("%Y-%m-%d %H:%M:%S")
        text = f"{moment} {level} {one_line(self._clean(message))}\n"
        if error is not None:
            text += safe(self._clean("".join(traceback.format_exception(error))))
        with open_private(self._path, "ab") as file:
            file.write(text.encode("utf-8", "replace"))
