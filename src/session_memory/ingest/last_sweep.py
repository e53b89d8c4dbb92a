"""The report of the last sweep, kept for `status` and `doctor`: told, never relied upon."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.core.text.reason import reason_of
from session_memory.ingest.report import SweepReport
from session_memory.paths import private_dir


class LastSweep(msgspec.Struct):
    """How the last sweeps ended."""

    finished_at: int = 0
    """When the last one came to its end; 0 while none did."""
    report: dict[str, Any] = {}
    error: str | None = None
    """What stopped the sweep after that one, if something did."""
    error_at: int = 0


def read_last_sweep(path: Path) -> LastSweep | None:
    """What is known, or None."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=LastSweep)
    except (OSError, msgspec.DecodeError):
        return None


def note_report(path: Path, now_ms: int, report: SweepReport) -> None:
    """A sweep came to its end."""
    _write(path, LastSweep(now_ms, msgspec.to_builtins(report)))


def note_error(path: Path, now_ms: int, error: Exception) -> None:
    """A sweep was stopped; the report of the one before it stays."""
    last = read_last_sweep(path) or LastSweep()
    _write(path, msgspec.structs.replace(last, error=reason_of(error), error_at=now_ms))


def _write(path: Path, last: LastSweep) -> None:
    private_dir(path.parent)
    replace_file(path, msgspec.json.encode(last))
