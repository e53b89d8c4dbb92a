"""What memory did and why it left something out: one JSON line each, two files of bounded size."""

from __future__ import annotations

from pathlib import Path

import msgspec

from session_memory.clock import Clock, iso
from session_memory.paths import open_private, private_dir

NAME = "memory.log"
MAX_BYTES = 512 * 1024


class MemoryLog:
    """Appends to `memory.log` when there is something to say; the one before is `memory.log.1`."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        self._path = directory / NAME
        self._clock = clock

    def note(self, event: str, **fields: str | int | None) -> None:
        """One thing that happened. Fields are ids, paths, counts and reasons, never words."""
        self._write("info", event, fields)

    def warn(self, event: str, **fields: str | int | None) -> None:
        """One thing that went wrong, with the path or directory it concerns."""
        self._write("warning", event, fields)

    def debug(self, event: str, **fields: str | int | None) -> None:
        """One thing that only matters to whoever looks for a fault."""
        self._write("debug", event, fields)

    def _write(self, level: str, event: str, fields: dict[str, str | int | None]) -> None:
        private_dir(self._path.parent)
        if self._path.exists() and self._path.stat().st_size > MAX_BYTES:
            self._path.replace(self._path.with_name(NAME + ".1"))
        told = {"at": iso(self._clock()), "level": level, "event": event, **fields}
        with open_private(self._path, "ab") as file:
            file.write(msgspec.json.encode(told) + b"\n")


def read_log(directory: Path) -> list[dict[str, str | int | None]]:
    """Every line still there, oldest first; one that was cut off is left out."""
    found: list[dict[str, str | int | None]] = []
    for name in (NAME + ".1", NAME):
        path = directory / name
        for line in path.read_bytes().splitlines() if path.exists() else ():
            try:
                found.append(msgspec.json.decode(line, type=dict[str, str | int | None]))
            except msgspec.DecodeError:
                continue
    return found
