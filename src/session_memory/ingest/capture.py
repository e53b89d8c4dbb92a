"""The middle of a sweep: changed files into the store, every changed session distilled.

Files are read many to a transaction. Whatever goes wrong with one of them, its transaction is taken
back and its files are read again one by one, so that only the one to blame is left out.
"""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import msgspec

from session_memory.adapters.common import Adapter, SourceFile
from session_memory.core.pricing import load_table, price
from session_memory.core.project.identity import Options
from session_memory.distil.sessions import analyze_one
from session_memory.ingest.identify import ProjectFinder, RulesUnreadableError
from session_memory.ingest.normalize import Drafter
from session_memory.ingest.pauses import read_pauses
from session_memory.ingest.read_source import SourceReader, UnreadError
from session_memory.ingest.redaction import make_redactor
from session_memory.ingest.report import SweepReport, clean_unknown
from session_memory.ingest.steps import Steps
from session_memory.ingest.sweep import Changed, Surroundings
from session_memory.redact import Redactor
from session_memory.store.port import Store, Writer


def capture(
    around: Surroundings, store: Store, changed: list[Changed], report: SweepReport
) -> None:
    """Read what changed, in one writer that commits as it goes."""
    redactor, warnings = make_redactor(store.tag_key, around.config.redact)
    report.warnings.extend(warnings)
    prices = load_table()
    drafter = Drafter(store.fingerprint_key, redactor, prices)
    drafter.elsewhere = store.forgotten_elsewhere()
    identity = around.config.identity
    finder = ProjectFinder(
        around.tree,
        Options(
            identity.share_worktrees, around.config.domains, identity.default_domain, around.home
        ),
        # In our own folders only our own agents work, on memory that is being written.
        (*around.config.sources.exclude_paths, *_both_names(around.store_directory)),
    )
    with store.writing() as writer:
        reader = SourceReader(store, writer, drafter, finder, report)
        reader.pauses = read_pauses(around.store_directory)
        reader.limits(around.config.ingest.line_cap_bytes, around.config.ingest.commit_bytes)
        steps = Steps(store, report, around.clock, redactor.redact_text)
        steps.attempt(
            "prices",
            f"table {prices.version}",
            partial(writer.reprice, partial(price, table=prices), prices.version),
        )
        run = _Run(around, store, writer, reader, finder, redactor, steps)
        reader.on_full = run.commit_midway
        run.place(store.unplaced())
        run.read_all(changed)
    clean_unknown(report, redactor.redact_text)
    report.warnings.extend(finder.warnings())


def _both_names(directory: str) -> set[str]:
    """A directory as it is named, and without links: clients log either."""
    return {os.path.abspath(directory), os.path.realpath(directory)}


class _Run(msgspec.Struct):
    """The way of one writer through the changed files."""

    around: Surroundings
    store: Store
    writer: Writer
    reader: SourceReader
    finder: ProjectFinder
    redactor: Redactor
    steps: Steps
    batch: list[tuple[Adapter, SourceFile]] = []
    """Files read since the last commit."""
    before: dict[str, Any] = {}
    """The report's figures at the last commit."""
    undistilled: set[int] = set()
    """Sessions whose digest failed in this sweep."""

    @property
    def report(self) -> SweepReport:
        return self.steps.report

    def read_all(self, changed: list[Changed]) -> None:
        """Read every file, and go on behind one that fails."""
        self._begin()
        total = sum(max(file.size, 0) for group in changed for file in group.files)
        for group in changed:
            for file in group.files:
                self.around.progress(self.report.bytes_read, total, file.path)
                self.batch.append((group.adapter, file))
                try:
                    self._read(group.adapter, file)
                except Exception as error:  # noqa: BLE001 - one file must not stop the others
                    self.steps.check(error)
                    self._one_by_one()
        try:
            self._commit(set())
        except Exception as error:  # noqa: BLE001
            self.steps.check(error)
            self._one_by_one()

    def commit_midway(self, open_sessions: set[int]) -> None:
        """Make what was read visible in the middle of a file whose sessions go on."""
        current = self.batch[-1]
        self._commit(open_sessions)
        self.batch.append(current)

    def place(self, sessions: list[int]) -> None:
        """Give each session its project; one that fails keeps none until the next sweep."""
        for session_id in sessions:
            assign = partial(self.finder.assign, self.writer, session_id)
            self.steps.attempt("project", session_id, assign)

    def _read(self, adapter: Adapter, file: SourceFile) -> None:
        try:
            self.reader.read(adapter, file)
        except UnreadError as error:
            self.steps.check(error.cause)
            self._note_unread(file, error.cause)
        else:
            self.report.ingested += 1

    def _note_unread(self, file: SourceFile, error: Exception) -> None:
        self.steps.unread(file.path, error, deferred=isinstance(error, RulesUnreadableError))

    def _commit(self, open_sessions: set[int]) -> None:
        """Make what was read visible, then distil every session that is complete."""
        self.place(sorted(self.reader.settle()))
        self.writer.commit()
        self.report.redactions.update(self.redactor.take_counts())
        self._begin()
        self._distil_waiting(open_sessions)

    def _distil_waiting(self, open_sessions: set[int]) -> None:
        left = open_sessions | self.undistilled
        done = [one for one in self.store.unanalyzed() if one not in left and self._distil(one)]
        self.report.analyzed += len(done)
        self.around.digested(done)

    def _distil(self, session_id: int) -> bool:
        analyze = partial(analyze_one, self.store, self.writer, session_id)
        if self.steps.attempt("digest", session_id, analyze):
            return True
        self.undistilled.add(session_id)
        # Not tried again in this sweep, so it stays noted whatever else is taken back.
        self.before["failed_steps"] = list(self.report.failed_steps)
        return False

    def _begin(self) -> None:
        self.batch = []
        self.before = self.report.snapshot()
        self.reader.begin_transaction()

    def _one_by_one(self) -> None:
        """Take back what is not committed and read its files again, each in its own commits."""
        batch = self.batch
        self._take_back()
        self.reader.commits_blocks = True
        for adapter, file in batch:
            self.batch.append((adapter, file))
            try:
                self._read(adapter, file)
                self._commit(set())
            except Exception as error:  # noqa: BLE001 - this is the one
                self.steps.check(error)
                self._take_back()
                self._note_unread(file, error)
                self.before = self.report.snapshot()
        self.reader.commits_blocks = False
        self._distil_waiting(set())  # again where a digest was taken back with the one that failed

    def _take_back(self) -> None:
        self.writer.start_over()
        self.redactor.take_counts()
        self.report.return_to(self.before)
        self._begin()
