"""One sweep: discover -> normalize -> store -> digest -> evict.

Each file's events and cursor become visible together. Whatever happens in between, the next sweep
goes on from what was committed and comes to the same result.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from session_memory.adapters.common import Adapter, SourceFile
from session_memory.clock import Clock, iso
from session_memory.file_names import name_to_text
from session_memory.ingest.discover import Places, discover, places, stamp_of
from session_memory.ingest.pauses import keep_pauses
from session_memory.ingest.report import SweepReport, clean_unknown
from session_memory.ingest.retention import apply_plan, make_plan, policy_of
from session_memory.ingest.steps import Steps
from session_memory.ingest.unfinished import clear, is_marked, mark
from session_memory.settings import Config
from session_memory.store.damage import keep_aside, known_damage, was_removed
from session_memory.store.failures import as_damage
from session_memory.store.lock import exclusive
from session_memory.store.marks import clean_up
from session_memory.store.port import Store
from session_memory.store.swap import drop_staging

if TYPE_CHECKING:
    from session_memory.core.project.path_shape import Tree

CROWDED = 16
"""A session that came in more pieces than this has them joined into one file."""

HARMLESS_DAYS = 365
"""An agent that keeps its logs for longer than this needs no warning."""

LEAVE_FILES = frozenset({"orphans", "compact", "evict"})
"""Steps that may leave files behind when they fail."""

Progress = Callable[[int, int, str], None]
"""(bytes done, bytes in all, path): called before each file that is read."""


class Surroundings(msgspec.Struct, frozen=True):
    """Everything a sweep needs from outside."""

    config: Config
    adapters: Mapping[str, Adapter]
    environ: Mapping[str, str]
    home: str
    store_directory: str
    prepare: Callable[[], object]
    """Makes the store's directory, private."""
    open_store: Callable[[], Store]
    """Opens the store, making it if there is none."""
    peek_store: Callable[[], Store | None]
    """Opens it read-only, or None: a dry run must not make one."""
    tree: Tree
    clock: Clock
    named: Mapping[str, list[str]] = {}
    """Files to read besides those found, per flavour: transcripts that hooks named."""
    progress: Progress = lambda _done, _all, _path: None
    digested: Callable[[list[int]], object] = lambda _sessions: None
    """Told which sessions have a new digest; it may not be committed yet."""


class Changed(msgspec.Struct):
    """Files of one flavour that have something new."""

    place: Places
    files: list[SourceFile]
    first_time: bool = False
    """Whether nothing of this flavour was ever read before."""

    @property
    def adapter(self) -> Adapter:
        """The flavour's record."""
        return self.place.adapter


def sweep(around: Surroundings, *, dry_run: bool = False) -> SweepReport:
    """Run one sweep; raises StoreLocked when another one is running."""
    started, cpu = time.perf_counter(), time.process_time()
    report = SweepReport(dry_run=dry_run)
    if dry_run:
        _dry_run(around, report)
    else:
        around.prepare()
        with exclusive(os.path.join(around.store_directory, "sweep.lock"), "a sweep"):
            report = _sweep(around)
    report.seconds = round(time.perf_counter() - started, 3)
    report.cpu_seconds = round(time.process_time() - cpu, 3)
    return report


def _find_changed(around: Surroundings, report: SweepReport, store: Store | None) -> list[Changed]:
    """Discover every flavour's files and keep those whose stamp or parser is new."""
    steps = Steps(store, report, around.clock)
    changed: list[Changed] = []
    for place in places(around.adapters, around.config.sources, around.environ, around.home):
        report.looked_in.extend(map(name_to_text, place.looked_in))
        group = Changed(place, [])
        steps.attempt("discover", place.adapter.name, partial(_look, around, report, store, group))
        changed.append(group)
    return changed


def _look(around: Surroundings, report: SweepReport, store: Store | None, group: Changed) -> None:
    """Fill a group; what was found before something failed is kept."""
    adapter, files = group.adapter, group.files
    stamps = store.stamps(adapter.name) if store else {}
    first_time, version, discovered = not stamps, adapter.parser_version, 0
    named = around.named.get(adapter.name, [])
    try:
        for file in discover(group.place, around.config.sources.exclude_paths, named):
            discovered += 1
            path = name_to_text(file.path)
            found = stamps.pop(path, None)
            if found == (stamp_of(file), version):
                continue
            if found is None and store and store.is_forgotten_source(path, stamp_of(file)):
                continue
            files.append(file)
        report.vanished += len(stamps)
    finally:
        report.discovered += discovered
        report.skipped_unchanged += discovered - len(files)
        report.flavors[adapter.name] = discovered
        group.first_time = first_time and bool(files)


def _warn_of_deletion(store: Store, first: list[Places], report: SweepReport) -> None:
    """On the first sweep of a flavour: when its logs vanish, and what was captured in time."""
    for place in first:
        # Several folders of one agent usually have the same habit: one warning tells of it.
        habits = {
            habit: None for root in place.roots if (habit := place.adapter.log_deletion(root))
        }
        for habit in habits:
            if habit.days > HARMLESS_DAYS:
                continue
            count, oldest = store.span(place.adapter.name)
            since = f", the oldest from {(iso(oldest) or '')[:10]}" if oldest else ""
            report.warnings.append(
                f"{place.adapter.title} deletes its logs after {habit.days} days ({habit.where});"
                f" captured in time: {count} sessions{since}; sweep at least that often"
            )


def _dry_run(around: Surroundings, report: SweepReport) -> None:
    """Discover and parse, write nothing; an existing store only tells what is unchanged."""
    store = around.peek_store()
    try:
        changed = _find_changed(around, report, store)
        key = store.tag_key if store else os.urandom(32)
    finally:
        if store:
            store.close()
    from session_memory.ingest.read_source import count_only
    from session_memory.ingest.redaction import make_redactor

    clean = make_redactor(key, around.config.redact)[0].redact_text
    steps = Steps(None, report, around.clock, clean)
    total = sum(max(file.size, 0) for group in changed for file in group.files)
    for group in changed:
        for file in group.files:
            around.progress(report.bytes_read, total, file.path)
            try:
                count_only(group.adapter, file, around.config.ingest.line_cap_bytes, report)
                report.ingested += 1
            except Exception as error:  # noqa: BLE001 - one file must not stop the others
                steps.unread(file.path, error)
    clean_unknown(report, clean)


def _sweep(around: Surroundings) -> SweepReport:
    """Capture; where the database turns out to be damaged, into a fresh one."""
    directory = around.store_directory
    report = SweepReport()
    if was_removed(directory):
        keep_aside(directory, around.clock(), "the database is missing")
    try:
        _capture(around, report)
    except Exception as error:
        found = as_damage(error)
        if found is None:
            raise
        keep_aside(directory, around.clock(), found.message)
        report = SweepReport()
        _capture(around, report)
    damage = known_damage(directory)
    if damage is not None:
        report.damage = damage.told
    return report


def _capture(around: Surroundings, report: SweepReport) -> None:
    store = around.open_store()
    directory = around.store_directory
    steps = Steps(store, report, around.clock)
    try:
        if store.has_new_marks():  # first of all: what was forgotten must not be read again
            mark(directory)
            keep_pauses(directory)
            store.apply_marks()
        if is_marked(directory):
            steps.attempt("orphans", "clean-up", partial(_clean_up, store, directory, report))
        changed = _find_changed(around, report, store)
        if any(group.files for group in changed) or store.unanalyzed() or store.unplaced():
            mark(directory)
            from session_memory.ingest.capture import capture  # 50 ms that an idle sweep saves

            capture(around, store, changed, report)
            first = [group.place for group in changed if group.first_time]
            steps.attempt(
                "settings", "log deletion", partial(_warn_of_deletion, store, first, report)
            )
            for session_id in store.crowded(CROWDED):
                steps.attempt("compact", session_id, partial(store.compact, session_id))
        steps.attempt("evict", "retention", partial(_age, around, store, report))
        if not LEAVE_FILES & {failure.step for failure in report.failed_steps}:
            clear(directory)  # else the next sweep looks for files that were left over
    finally:
        store.close()


def _clean_up(store: Store, directory: str, report: SweepReport) -> None:
    clean_up(directory)
    drop_staging(directory)
    report.orphans_removed = store.sweep_orphans()


def _age(around: Surroundings, store: Store, report: SweepReport) -> None:
    now = around.clock()
    plan = make_plan(store, policy_of(around.config.retention), now)
    if plan.evictions:  # files go after their rows, so this too can be cut off in between
        mark(around.store_directory)
    report.retention = apply_plan(store, plan, now)
