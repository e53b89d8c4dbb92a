"""What a sweep has digested is mined right after it: `detect` and `fix` then only have to count."""

from __future__ import annotations

from collections.abc import Collection

from session_memory.detect.mine import mine
from session_memory.errors import StoreError
from session_memory.ingest.report import SweepReport
from session_memory.ingest.sweep import Surroundings


def mine_after(around: Surroundings, digested: Collection[int], report: SweepReport) -> None:
    """Take the signals of what was digested; what fails here is no loss, `detect` catches up."""
    try:
        store = around.open_store()
        try:
            mine(store.patterns, digested)
        finally:
            store.close()
    except StoreError as error:
        report.warnings.append(f"signals will be mined by the next `detect`: {error.message}")
