"""A whole sweep as the commands and the worker run it: capture, mine, keep the report.

Mining right after digesting means that `rules detect` and `fix` only have to count. Capture and
detection know nothing of each other; they are joined here, above both.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

from session_memory.errors import SessionMemoryError, StoreError, StoreLocked
from session_memory.ingest.context import SweepContext
from session_memory.ingest.last_sweep import note_error, note_report, redacted_so_far
from session_memory.ingest.report import Steps, SweepReport
from session_memory.ingest.sweep import sweep


def sweep_and_mine(
    context: SweepContext, last_sweep: Path, *, dry_run: bool = False
) -> SweepReport:
    """Sweep, take the signals of every session that was digested, write `last_sweep`.

    Raises StoreLocked when another sweep is running; that one writes its own report.
    """
    if dry_run:
        return sweep(context, dry_run=True)
    try:
        report = sweep(context)
    except StoreLocked:
        raise
    except Exception as error:
        note_error(last_sweep, context.clock(), error)
        raise
    redacted = redacted_so_far(last_sweep)
    _keep_report(context, last_sweep, report, redacted)
    if report.digested and not (_find_writers(context, report) & mine_digested(context, report)):
        _keep_report(context, last_sweep, report, redacted)
    return report


def _keep_report(
    context: SweepContext, last_sweep: Path, report: SweepReport, redacted: Counter[str]
) -> None:
    """Write the report for `status`; a sweep succeeds even if there is no room for it."""
    try:
        note_report(last_sweep, context.clock(), report, redacted)
    except OSError as error:
        report.warnings.append(
            f"everything was stored, but not the report of this sweep: {error.strerror}"
            f" ({last_sweep.parent}); `status` shows the one before"
        )


def _find_writers(context: SweepContext, report: SweepReport) -> bool:
    """Find the sessions of notes whose agents did not name theirs; False where that failed."""
    from session_memory.curate.agent_notes import UNKNOWN, read_notes  # not for an idle sweep

    data = Path(context.store_directory)
    try:
        if any(note.session == UNKNOWN for note in read_notes(data)):
            from session_memory.curate.note_sessions import find_writers  # 150 modules more

            with context.open_store() as store:
                find_writers(store, data, context.clock)
    except SessionMemoryError as error:
        report.warnings.append(f"notes of agents keep an unknown session: {error.message}")
        return False
    return True


def mine_digested(context: SweepContext, report: SweepReport) -> bool:
    """Take the signals of what a sweep digested; False where that failed for some.

    Nothing is lost then: `rules detect` catches up.
    """
    from session_memory.detect.mine import mine  # 20 ms that an idle sweep saves

    context.log(f"mine {len(report.digested)} digests")
    failures = len(report.failed_steps)
    try:
        store = context.open_store()
        try:
            steps = Steps(store, report, context.clock)
            try:
                mine(store.patterns, report.digested)
            except Exception as error:  # noqa: BLE001 - find out which session it is
                steps.check(error)
                for session_id in dict.fromkeys(report.digested):
                    mine_session = partial(mine, store.patterns, [session_id])
                    steps.attempt("signals", session_id, mine_session)
        finally:
            store.close()
    except StoreError as error:
        report.warnings.append(f"signals will be mined by the next `rules detect`: {error.message}")
        return False
    return len(report.failed_steps) == failures
