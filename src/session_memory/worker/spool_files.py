"""The spool directory and the file of rate limits; `core/spool.py` holds the protocol."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.core.spool import REPEAT_WINDOW_MS, SpoolRecord, Unreadable, decode
from session_memory.plain_files import open_plain

STALE_MS = 3_600_000
"""A half-written record older than this has no hook behind it any more."""
RECORD_MAX = 64 * 1024
SERVED = "served.json"
"""When each session was last imported because of a hook: what rate limits are counted from."""


class Listing(msgspec.Struct, frozen=True):
    """What is in the spool."""

    records: tuple[SpoolRecord, ...] = ()
    damaged: tuple[str, ...] = ()
    newer: int = 0
    """Records of a newer version: left for a newer worker."""


class SpoolFiles:
    """Reads, removes and sets aside records."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._aside = os.path.join(directory, "damaged")

    def list(self, now_ms: int) -> Listing:
        """Every record there is; leftovers of hooks that died are removed."""
        records: list[SpoolRecord] = []
        damaged: list[str] = []
        newer = 0
        for name in self._names():
            path = os.path.join(self._directory, name)
            if name.endswith(".new"):
                self._remove_stale(path, now_ms)
            elif name.endswith(".json"):
                read = self._read(path)
                if isinstance(read, SpoolRecord) and f"{read.id}.json" == name:
                    records.append(read)
                elif isinstance(read, Unreadable) and read.reason == "newer":
                    newer += 1
                elif read is not None:
                    damaged.append(name)
        return Listing(tuple(records), tuple(damaged), newer)

    def _names(self) -> list[str]:
        try:
            return sorted(os.listdir(self._directory))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def _read(self, path: str) -> SpoolRecord | Unreadable | None:
        try:
            with open_plain(path, follow=False) as file:
                return decode(file.read(RECORD_MAX))
        except FileNotFoundError:
            return None
        except OSError:
            return Unreadable("damaged")

    def _remove_stale(self, path: str, now_ms: int) -> None:
        with contextlib.suppress(OSError):
            if os.stat(path).st_mtime * 1000 < now_ms - STALE_MS:
                os.unlink(path)

    def remove(self, ids: Iterable[str]) -> None:
        """Delete records that took effect."""
        for record_id in ids:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self._directory, f"{record_id}.json"))

    def set_aside(self, names: Iterable[str]) -> None:
        """Move damaged files out of the way; they are kept."""
        for name in names:
            os.makedirs(self._aside, mode=0o700, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                os.replace(os.path.join(self._directory, name), os.path.join(self._aside, name))

    def counts(self) -> dict[str, int]:
        """How many records are waiting, and how many were set aside."""
        try:
            aside = len(os.listdir(self._aside))
        except (FileNotFoundError, NotADirectoryError):  # `doctor` and `status` name a file there
            aside = 0
        return {"waiting": sum(n.endswith(".json") for n in self._names()), "damaged": aside}


def read_served(state: Path) -> dict[str, int]:
    """The time of the last import by key; an unreadable file only costs one extra import."""
    try:
        return msgspec.json.decode((state / SERVED).read_bytes(), type=dict[str, int])
    except (OSError, msgspec.DecodeError):
        return {}


def write_served(state: Path, served: dict[str, int], now_ms: int) -> None:
    """Write the times that still limit something."""
    recent = {key: at for key, at in served.items() if now_ms - REPEAT_WINDOW_MS < at <= now_ms}
    replace_file(state / SERVED, msgspec.json.encode(recent))
