"""What hooks and worker left of sessions outside the store, removed when they are forgotten."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from session_memory.worker.served import NAME as SERVED
from session_memory.worker.spool_files import SpoolFiles


def forget_live(state: Path, sessions: Iterable[str], now_ms: int) -> int:
    """Remove spool records of sessions, and what only served them; returns how many records went.

    The worker's memory of imports and its log name sessions too: both can be missed, so they go.
    """
    gone = {name.partition(":")[0] for name in sessions}
    if not gone:
        return 0
    spool = SpoolFiles(str(state / "spool"))
    records = [record.id for record in spool.list(now_ms).records if record.session in gone]
    spool.remove(records)
    for path in (state / SERVED, *(state / "logs").glob("worker.log*")):
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
    return len(records)
