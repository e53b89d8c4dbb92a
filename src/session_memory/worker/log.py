"""The worker's own log: one JSON line per thing done, two files of bounded size."""

from __future__ import annotations

from pathlib import Path

import msgspec

from session_memory.clock import iso
from session_memory.paths import open_private, private_dir

MAX_BYTES = 512 * 1024


class WorkerLog:
    """Appends to `worker.log`; the one before is kept as `worker.log.1`."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "worker.log"
        private_dir(directory)

    def write(self, now_ms: int, event: str, **fields: str | int | None) -> None:
        """One line. Fields are ids, paths, counts and reasons, never text of sessions."""
        if self._path.exists() and self._path.stat().st_size > MAX_BYTES:
            self._path.replace(self._path.with_name("worker.log.1"))
        line = msgspec.json.encode({"at": iso(now_ms), "event": event, **fields})
        with open_private(self._path, "ab") as file:
            file.write(line + b"\n")
