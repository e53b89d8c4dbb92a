"""flush.log: the only place for a flush to report to, since its output is discarded."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Literal

from session_memory.clock import Clock
from session_memory.core.text.safe_text import one_line, safe
from session_memory.paths import append_log

Level = Literal["INFO", "WARNING", "ERROR"]


class FlushLog:
    """Lines of local time, level and message.

    `clean` redacts them: error messages of others may quote the prompt.
    """

    def __init__(self, path: Path, clock: Clock, clean: Callable[[str], str]) -> None:
        self._path = path
        self._clock = clock
        self._clean = clean

    def info(self, message: str) -> None:
        """Something went as it should."""
        self._write("INFO", message)

    def warning(self, message: str) -> None:
        """Something went wrong and was handled."""
        self._write("WARNING", message)

    def error(self, message: str, *, cause: BaseException | None = None) -> None:
        """Something went wrong; with the traceback of its cause, if there is one."""
        self._write("ERROR", message, cause)

    def _write(self, level: Level, message: str, error: BaseException | None = None) -> None:
        moment = datetime.fromtimestamp(self._clock() / 1000).strftime("%Y-%m-%d %H:%M:%S")
        text = f"{moment} {level} {one_line(self._clean(message))}\n"
        if error is not None:
            text += safe(self._clean("".join(traceback.format_exception(error))))
        append_log(self._path, text.encode("utf-8", "replace"))
