"""A sweep that kills itself (signal 9) when its events are stored and nothing is distilled yet.

python -m tests.ingest.killed_before_digest --config FILE sweep
"""

from __future__ import annotations

import os
import signal
import sys

from session_memory.__main__ import main
from session_memory.store.sqlite import SqliteStore


def die(_store: SqliteStore) -> list[int]:
    os.kill(os.getpid(), signal.SIGKILL)
    return []


if __name__ == "__main__":
    SqliteStore.unanalyzed = die
    main(sys.argv[1:])
