"""The report of the last sweep, for `status` and `doctor` to show; nothing else depends on it."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
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
    """When the last one finished; 0 if none has."""
    report: dict[str, Any] = {}
    redacted: dict[str, int] = {}
    """How often each rule found a secret, in all sweeps so far."""
    error: str | None = None
    """What stopped a later sweep, if anything did."""
    error_at: int = 0


def read_last_sweep(path: Path) -> LastSweep | None:
    """The stored report, or None if there is none or it cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=LastSweep)
    except (OSError, msgspec.DecodeError):
        return None


def redacted_so_far(path: Path) -> Counter[str]:
    """How often each rule found a secret, up to the last sweep that is known."""
    last = read_last_sweep(path) or LastSweep()
    return Counter(last.redacted or last.report.get("redactions", {}))  # an older file has no sum


def note_report(path: Path, now_ms: int, report: SweepReport, redacted: Counter[str]) -> None:
    """Keep the report of a finished sweep, and how often secrets were redacted before it."""
    _write(path, LastSweep(now_ms, msgspec.to_builtins(report), redacted + report.redactions))


def note_error(path: Path, now_ms: int, error: Exception) -> None:
    """Keep what stopped a sweep; the report of the one before it stays."""
    last = read_last_sweep(path) or LastSweep()
    _write(path, msgspec.structs.replace(last, error=reason_of(error), error_at=now_ms))


def keep_only_numbers(path: Path) -> None:
    """After forgetting: keep when the last sweep ended and its counts.

    Its texts may name what is gone.
    """
    last = read_last_sweep(path)
    with suppress(FileNotFoundError, NotADirectoryError):
        path.unlink()
    if last is not None:
        numbers = {
            key: count for key, count in last.report.items() if isinstance(count, int | float)
        }
        with suppress(OSError):  # a full disk: better no report than an old one
            _write(path, LastSweep(last.finished_at, numbers, last.redacted))


def _write(path: Path, last: LastSweep) -> None:
    private_dir(path.parent)
    replace_file(path, msgspec.json.encode(last))
