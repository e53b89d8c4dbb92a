"""One sweep: discover -> capture (read, normalize, redact, store, digest) -> evict.

Each file's events and cursor become visible together. Wherever a sweep is cut off, the next one
goes on from what was committed and arrives at the same result. Mining, the step after these, needs
`rules detect` and is added above, in `worker/sweep.py`.
"""

from __future__ import annotations

import os
import time
from functools import partial
from typing import TYPE_CHECKING

from session_memory.clock import iso
from session_memory.core.pricing import table_version
from session_memory.core.retention.explain import explain
from session_memory.ingest.context import SweepContext
from session_memory.ingest.discover import LogFolders, find_changed
from session_memory.ingest.pauses import keep_pauses
from session_memory.ingest.report import Steps, SweepReport, clean_unknown
from session_memory.ingest.retention import apply_plan, make_plan
from session_memory.ingest.rules_version import is_rescan_due, note_first_rules, rules_version
from session_memory.paths import private_dir
from session_memory.store.damage import keep_aside, known_damage, was_removed
from session_memory.store.failures import as_damage
from session_memory.store.lock import exclusive
from session_memory.store.marks import clean_up
from session_memory.store.swap import drop_staging
from session_memory.store.unfinished import clear, is_marked, mark

if TYPE_CHECKING:
    from session_memory.ingest.process_pool import ProcessPool
    from session_memory.store.port import CaptureStore, RetentionStore

CROWDED = 16
"""A session that came in more pieces than this has them joined into one file."""

HARMLESS_DAYS = 365
"""An agent that keeps its logs for longer than this needs no warning."""

LEAVE_FILES = frozenset({"orphans", "compact", "evict"})
"""Steps that may leave files behind when they fail."""


def sweep(context: SweepContext, *, dry_run: bool = False) -> SweepReport:
    """Run one sweep; raises StoreLocked when another one is running."""
    started, cpu = time.perf_counter(), _cpu_seconds()
    if dry_run:
        report = _dry_run(context)
    else:
        private_dir(context.store_directory)
        with exclusive(os.path.join(context.store_directory, "sweep.lock"), "a sweep"):
            report = _sweep_or_start_afresh(context)
    report.seconds = round(time.perf_counter() - started, 3)
    report.cpu_seconds = round(_cpu_seconds() - cpu, 3)
    return report


def _cpu_seconds() -> float:
    """Of this process and of the pool once it has ended; Windows does not count the latter."""
    return sum(os.times()[:4])


def _dry_run(context: SweepContext) -> SweepReport:
    """Discover and parse, write nothing; an existing store only shows what is unchanged."""
    report = SweepReport(dry_run=True)
    store = context.open_existing_store()
    try:
        changed = find_changed(context, report, store)
        key = store.tag_key if store else os.urandom(32)
    finally:
        if store:
            store.close()
    from session_memory.ingest.counting import count_only
    from session_memory.redact import make_redactor

    clean = make_redactor(key, context.config.redact, report.warnings.append).redact_text
    steps = Steps(None, report, context.clock, clean)
    total = sum(max(file.size, 0) for group in changed for file in group.files)
    for group in changed:
        for file in group.files:
            context.progress(report.bytes_read, total, file.path)
            context.log(f"parse {file.path}")
            try:
                count_only(group.adapter, file, context.config.ingest.line_cap_bytes, report)
                report.ingested += 1
            except Exception as error:  # noqa: BLE001 - one file must not stop the others
                steps.unread(file.path, error)
    clean_unknown(report, clean)
    return report


def _sweep_or_start_afresh(context: SweepContext) -> SweepReport:
    """Sweep; where the database turns out to be damaged, keep it aside and use a fresh one."""
    directory = context.store_directory
    if was_removed(directory):
        keep_aside(directory, context.clock(), "the database is missing")
    try:
        report = _sweep(context)
    except Exception as error:
        damage = as_damage(error)
        if damage is None:
            raise
        keep_aside(directory, context.clock(), damage.message)
        report = _sweep(context)
    aside = known_damage(directory)
    if aside is not None:
        report.damage = aside.message
    return report


def _sweep(context: SweepContext) -> SweepReport:
    """Every step, in order."""
    report = SweepReport()
    store = context.open_store()
    directory = context.store_directory
    steps = Steps(store, report, context.clock)
    pool: ProcessPool | None = None
    try:
        if store.has_new_marks():  # first of all: what was forgotten must not be read again
            mark(directory)
            keep_pauses(directory)
            store.apply_marks()
        if is_marked(directory):
            steps.attempt("orphans", "clean-up", partial(_clean_up, store, directory, report))
        rules = rules_version(context.config.redact)
        note_first_rules(store, rules)
        report.rescan_due = is_rescan_due(store, rules)
        changed = find_changed(context, report, store)
        if (
            any(group.files or group.containers for group in changed)
            or store.unanalyzed()
            or store.outdated(1)
            or store.unplaced()
            or store.price_table() != table_version()
        ):
            mark(directory)
            from session_memory.ingest.ahead import make_shared_parts, pool_setup, processes
            from session_memory.ingest.capture import capture  # 50 ms that an idle sweep saves
            from session_memory.ingest.process_pool import ProcessPool

            if (count := processes(context, changed)) > 1:
                setup = pool_setup(context, store)
                store.close()  # see process_pool: none may be forked while a database is open
                make_shared_parts(context.config.redact)
                pool = ProcessPool(count - 1, setup)
                store = context.open_store()
                steps = Steps(store, report, context.clock)
            cut = capture(context, store, changed, report, pool)
            first = [group.folders for group in changed if group.first_time]
            steps.attempt(
                "settings", "log deletion", partial(_warn_of_deletion, store, first, report)
            )
            for session_id in store.crowded(CROWDED):
                steps.attempt("compact", session_id, partial(store.compact, session_id))
            for session_id in sorted(cut):
                repack = partial(store.compact, session_id, at_least=1)
                steps.attempt("compact", session_id, repack)
        steps.attempt("evict", "retention", partial(_evict, context, store, report))
        if not LEAVE_FILES & {failure.step for failure in report.failed_steps}:
            clear(directory)  # otherwise the next sweep looks for files that were left over
    finally:
        if pool is not None:
            pool.close()
        store.close()
    return report


def _clean_up(store: RetentionStore, directory: str, report: SweepReport) -> None:
    clean_up(directory)
    drop_staging(directory)
    report.orphans_removed = store.sweep_orphans()


def _warn_of_deletion(store: CaptureStore, first: list[LogFolders], report: SweepReport) -> None:
    """On the first sweep of a flavour: when its agent deletes logs, and what was captured."""
    for folders in first:
        adapter = folders.adapter
        # Several folders of one agent usually have the same setting: one warning is enough.
        settings = dict.fromkeys(adapter.log_deletion(root) for root in folders.roots)
        for deletion in settings:
            if deletion is None or deletion.days > HARMLESS_DAYS:
                continue
            count, oldest = store.span(adapter.name)
            if not count:
                continue
            since = f", the oldest from {(iso(oldest) or '')[:10]}" if oldest else ""
            report.warnings.append(
                f"{adapter.title} deletes its logs after {deletion.days} days ({deletion.where});"
                f" captured in time: {count} session{'s' * (count != 1)}{since};"
                " sweep at least that often"
            )


def _evict(context: SweepContext, store: RetentionStore, report: SweepReport) -> None:
    now = context.clock()
    plan = make_plan(store, context.config.retention, now)
    for eviction in plan.evictions:
        context.log(f"evict {explain(eviction, plan.policy)}")
    if plan.evictions:  # files go after their rows, so this too can be cut off in between
        mark(context.store_directory)
    report.retention = apply_plan(store, plan, now)
