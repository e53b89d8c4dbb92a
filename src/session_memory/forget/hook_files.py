"""What hooks and worker left of sessions outside the store, removed when they are forgotten."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from session_memory.core.forget import ForgottenSessions
from session_memory.file_names import name_to_text
from session_memory.worker.spool_files import SERVED, SpoolFiles


def forget_hook_files(state: Path, forgotten: ForgottenSessions, now_ms: int) -> int:
    """Remove spool records of sessions, and whatever only served them; returns how many records.

    The record of imports, the worker's log and damaged records name sessions too. None of them is
    needed, so they go whole.
    """
    names = {name.partition(":")[0] for name in forgotten.names}
    if not names:
        return 0
    spool = SpoolFiles(str(state / "spool"))
    records = [
        record.id
        for record in spool.list(now_ms).records
        if record.session in names or forgotten.owns(name_to_text(record.cwd or ""))
    ]
    spool.remove(records)
    marks = [state / "told" / hashlib.sha256(name.encode()).hexdigest() for name in names]
    # Sub-agents have files of their own whose names are not recorded, so all are removed.
    marks += (state / "guards").glob("*")
    damaged = (state / "spool" / "damaged").glob("*")
    for path in (state / SERVED, *(state / "logs").glob("worker.log*"), *marks, *damaged):
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
    return len(records)
