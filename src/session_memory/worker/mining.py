"""What a sweep has digested is mined right after it: `detect` and `fix` then only have to count."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial

from session_memory.detect.mine import mine
from session_memory.errors import StoreError
from session_memory.ingest.report import SweepReport
from session_memory.ingest.steps import Steps
from session_memory.ingest.sweep import Surroundings


def mine_after(around: Surroundings, digested: Collection[int], report: SweepReport) -> bool:
    """Take the signals of what was digested; False where that failed for some.

    It is no loss, as `detect` catches up.
    """
    try:
        store = around.open_store()
    except StoreError as error:
        report.warnings.append(f"signals will be mined by the next `detect`: {error.message}")
        return False
    steps, failed = Steps(store, report, around.clock), len(report.failed_steps)
    try:
        try:
            mine(store.patterns, digested)
        except Exception as error:  # noqa: BLE001 - find out which one it is
            steps.check(error)
            for session_id in dict.fromkeys(digested):
                steps.attempt("signals", session_id, partial(mine, store.patterns, [session_id]))
    except StoreError as error:
        report.warnings.append(f"signals will be mined by the next `detect`: {error.message}")
        return False
    finally:
        store.close()
    return len(report.failed_steps) == failed
