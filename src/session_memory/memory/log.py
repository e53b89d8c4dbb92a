"""memory.log: what memory did and why it left something out, one JSON object per line."""

from __future__ import annotations

from pathlib import Path

import msgspec

from session_memory.clock import Clock, iso
from session_memory.paths import append_log

NAME = "memory.log"


class MemoryLog:
    """Appends to `memory.log`. Fields are ids, paths, counts and reasons, never session text."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._path = directory / NAME
        self._clock = clock

    def note(self, event: str, **fields: str | int | None) -> None:
        """Something happened."""
        self._write("info", event, fields)

    def warn(self, event: str, **fields: str | int | None) -> None:
        """Something went wrong, with the path or directory it concerns."""
        self._write("warning", event, fields)

    def debug(self, event: str, **fields: str | int | None) -> None:
        """A detail that only matters when looking for a fault."""
        self._write("debug", event, fields)

    def _write(self, level: str, event: str, fields: dict[str, str | int | None]) -> None:
        line = {"at": iso(self._clock()), "level": level, "event": event, **fields}
        append_log(self._path, msgspec.json.encode(line) + b"\n")


def read_log(directory: Path) -> list[dict[str, str | int | None]]:
    """Every line there is, oldest first, without truncated ones."""
    lines: list[dict[str, str | int | None]] = []
    for name in (NAME + ".1", NAME):
        path = directory / name
        for line in path.read_bytes().splitlines() if path.exists() else ():
            try:
                lines.append(msgspec.json.decode(line, type=dict[str, str | int | None]))
            except msgspec.DecodeError:
                continue
    return lines
