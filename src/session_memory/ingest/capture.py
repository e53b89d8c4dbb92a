"""The middle of a sweep: changed files into the store, every changed session distilled.

Files are read many to a transaction. Whatever goes wrong with one of them, the transaction is
rolled back and its files are read again one by one, so that only the faulty one is left out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from typing import Any

import msgspec

from session_memory.adapters.common import Adapter, SourceFile
from session_memory.core.pricing import load_table, price
from session_memory.core.project.identity import Options
from session_memory.distil.sessions import Distilled, distil, save
from session_memory.file_names import name_to_text
from session_memory.ingest.ahead import Ahead
from session_memory.ingest.context import SweepContext
from session_memory.ingest.discover import ChangedFiles
from session_memory.ingest.identify import ProjectFinder, RulesUnreadableError
from session_memory.ingest.normalize import Drafter
from session_memory.ingest.pauses import read_pauses
from session_memory.ingest.process_pool import ProcessDiedError, ProcessPool
from session_memory.ingest.read_source import SourceReader, UnreadError
from session_memory.ingest.report import Steps, SweepReport, clean_unknown
from session_memory.redact import Redactor, make_redactor
from session_memory.store.port import Store, Writer

RENEWED_PER_SWEEP = 500
"""Digests of an older version that one sweep renews: a few seconds of work."""

SAVED_TOGETHER = 500
"""Rows of digests and observations that are held back to be saved together."""


def capture(
    context: SweepContext,
    store: Store,
    changed: list[ChangedFiles],
    report: SweepReport,
    pool: ProcessPool | None = None,
) -> set[int]:
    """Read what changed, in one writer that commits as it goes.

    Returns the sessions of logs that were cut: their segments name the log they came from.
    """
    redactor = make_redactor(store.tag_key, context.config.redact, report.warnings.append)
    prices = load_table()
    finder = _project_finder(context)
    steps = Steps(store, report, context.clock, redactor.redact_text)
    with store.writing() as writer:
        reader = SourceReader(
            store=store,
            writer=writer,
            drafter=Drafter(store.fingerprint_key, redactor, prices, store.forgotten_elsewhere()),
            finder=finder,
            pauses=read_pauses(context.store_directory),
            limits=context.config.ingest,
            report=report,
            log=context.log,
        )
        steps.attempt(
            "prices",
            f"table {prices.version}",
            partial(writer.reprice, partial(price, table=prices), prices.version),
        )
        ahead = Ahead(pool, store, changed)
        run = _Capture(context, store, writer, reader, redactor, steps, ahead)
        run.assign_projects(store.unplaced())
        run.read_all(changed)
        run.save_distilled()
        run.assign_by_hash()
        run.renew_digests()
    report.digested = list(dict.fromkeys(report.digested))  # some came in several parts
    report.analyzed = len(report.digested)
    clean_unknown(report, redactor.redact_text)
    report.warnings.extend(finder.warnings())
    return reader.cut


def _project_finder(context: SweepContext) -> ProjectFinder:
    identity, config = context.config.identity, context.config
    directory = context.store_directory
    return ProjectFinder(
        context.tree,
        Options(identity.share_worktrees, config.domains, identity.default_domain, context.home),
        # In our own folders only our own agents work, on memory that is being written.
        # Clients log a directory as it is named, or with links resolved.
        (*config.sources.exclude_paths, os.path.abspath(directory), os.path.realpath(directory)),
    )


def _weight(distilled: Distilled) -> int:
    """About how many rows it takes to save a session: a digest counts for many."""
    return 20 + len(distilled.observations or ())


class _Capture(msgspec.Struct):
    """One writer's way through the changed files."""

    context: SweepContext
    store: Store
    writer: Writer
    reader: SourceReader
    redactor: Redactor
    steps: Steps
    ahead: Ahead
    batch: list[tuple[Adapter, SourceFile]] = []
    """Files read since the last commit."""
    before: dict[str, Any] = {}
    """The report's figures at the last commit."""
    undistilled: set[int] = set()
    """Sessions whose digest failed in this sweep."""

    @property
    def report(self) -> SweepReport:
        return self.steps.report

    def assign_projects(self, sessions: list[int]) -> None:
        """Give each session its project; one that fails keeps none until the next sweep."""
        for session_id in sessions:
            assign = partial(self.reader.finder.assign, self.writer, session_id)
            self.steps.attempt("project", session_id, assign)

    def assign_by_hash(self) -> None:
        """Place sessions of which only a hash of their root is known, by the roots of others."""
        hashed = self.store.hashed_roots()
        if not hashed:
            return
        from hashlib import sha256  # 3 ms that most sweeps save

        roots = {
            sha256(path.encode("utf-8", "surrogateescape")).hexdigest(): path
            for project in self.store.found_projects()
            for path in (project.root, *project.aliases)
            if path
        }
        for session_id, name in hashed.items():
            if (root := roots.get(name)) is not None:
                assign = partial(self.reader.finder.assign, self.writer, session_id, root)
                self.steps.attempt("project", session_id, assign)

    def read_all(self, changed: list[ChangedFiles]) -> None:
        """Read every file, and go on after one that fails."""
        self._begin()
        total = sum(max(file.size, 0) for group in changed for file in group.files)
        for group in changed:
            for file in group.files:
                self.context.progress(self.report.bytes_read, total, file.path)
                self.batch.append((group.adapter, file))
                try:
                    self._read(group.adapter, file, is_first=True)
                except Exception as error:  # noqa: BLE001 - one file must not stop the others
                    self.steps.check(error)
                    self._read_separately()
        try:
            self._commit(set())
        except Exception as error:  # noqa: BLE001
            self.steps.check(error)
            self._read_separately()
        for group in changed:
            for container in group.containers:
                note = partial(self._note_container, group.adapter, container)
                self.steps.attempt("discover", container.path, note)

    def _note_container(self, adapter: Adapter, container: SourceFile) -> None:
        """Remember a file as it is, unless one of the sessions in it has yet to be read."""
        name = name_to_text(container.path)
        if not any(failure.path.startswith(f"{name}#") for failure in self.report.failed):
            self.reader.note_container(adapter, container)
            self.writer.commit()

    def _read(self, adapter: Adapter, file: SourceFile, *, is_first: bool = False) -> None:
        """Read one file, with commits in its middle where it is large.

        Where it is not the first try, that is after every block.
        """
        try:
            prepared = self.ahead.prepared(file) if is_first else None
            for open_sessions in self.reader.read(
                adapter, file, every_block=not is_first, prepared=prepared
            ):
                self._commit(open_sessions)
                self.batch.append((adapter, file))
        except UnreadError as error:
            self.steps.check(error.cause)
            self._note_unread(file, error.cause)
        except ProcessDiedError as error:
            self._note_unread(file, error)
        else:
            self.report.ingested += 1

    def _note_unread(self, file: SourceFile, error: Exception) -> None:
        self.steps.unread(file.path, error, deferred=isinstance(error, RulesUnreadableError))

    def _commit(self, open_sessions: set[int]) -> None:
        """Make what was read visible, then distil every session that is complete."""
        self.save_distilled()  # the pool saw the store as it is now
        self.assign_projects(sorted(self.reader.settle()))
        self.writer.commit()
        self.report.redactions.update(self.redactor.take_counts())
        self._begin()
        self._distil_waiting(open_sessions)

    def _distil_waiting(self, open_sessions: set[int]) -> None:
        waiting = [
            session_id
            for session_id in self.store.unanalyzed()
            if session_id not in open_sessions and session_id not in self.undistilled
        ]
        if not self.ahead.distil(waiting):
            self._distil_each((session_id, None) for session_id in waiting)

    def save_distilled(self) -> None:
        """Write what the pool distilled of the last commit."""
        self._distil_each(self.ahead.distilled())

    def renew_digests(self) -> None:
        """Distil again what an older version of the program distilled, a part in each sweep."""
        outdated = self.store.outdated(RENEWED_PER_SWEEP)
        self._distil_each((number, None) for number in outdated if number not in self.undistilled)

    def _distil_each(self, sessions: Iterable[tuple[int, Distilled | Exception | None]]) -> None:
        """Distil sessions, unless a pool process has done it, or died of it, and save them.

        Several are saved together: a part of the transaction costs as much as a short session.
        """
        made: list[tuple[int, Distilled]] = []
        weight = 0
        for session_id, done in sessions:
            self.context.log(f"digest session {session_id}")
            make = partial(self._distilled, session_id, done)
            distilled = self.steps.attempt("digest", session_id, make)
            if distilled is None:
                self._leave_undistilled(session_id)
                continue
            made.append((session_id, distilled))
            weight += _weight(distilled)
            if weight >= SAVED_TOGETHER:
                self._save_together(made)
                made, weight = [], 0
        self._save_together(made)

    def _distilled(self, session_id: int, done: Distilled | Exception | None) -> Distilled:
        if isinstance(done, Exception):
            raise done
        if done is not None and session_id in self.reader.touched:  # it has changed since
            done = msgspec.structs.replace(done, checkpoint=None)
        return done or distil(self.store, session_id)

    def _save_together(self, made: list[tuple[int, Distilled]]) -> None:
        """Save all of them, or those that can be saved by themselves."""
        try:
            if made:
                self._save(made)
        except Exception as error:  # noqa: BLE001 - find out which session it is
            self.steps.check(error)
            made = [each for each in made if self._is_saved(each)]
        self.report.digested += [session_id for session_id, _ in made]

    def _is_saved(self, made: tuple[int, Distilled]) -> bool:
        if self.steps.attempt("digest", made[0], partial(self._save, [made])):
            return True
        self._leave_undistilled(made[0])
        return False

    def _save(self, made: list[tuple[int, Distilled]]) -> bool:
        with self.writer.attempt():
            save(self.writer, made)
        return True

    def _leave_undistilled(self, session_id: int) -> None:
        self.undistilled.add(session_id)
        # Not tried again in this sweep, so it stays noted whatever else is rolled back.
        self.before["failed_steps"] = list(self.report.failed_steps)

    def _begin(self) -> None:
        self.batch = []
        self.before = self.report.snapshot()
        self.reader.begin_transaction()

    def _read_separately(self) -> None:
        """Roll back what is not committed and read its files again, each in its own commits."""
        batch = self.batch
        self._roll_back()
        for adapter, file in batch:
            self.batch.append((adapter, file))
            try:
                self._read(adapter, file)
                self._commit(set())
            except Exception as error:  # noqa: BLE001 - this is the faulty one
                self.steps.check(error)
                self._roll_back()
                self._note_unread(file, error)
                self.before = self.report.snapshot()
        self._distil_waiting(set())  # again where a digest was rolled back with the faulty file

    def _roll_back(self) -> None:
        self.ahead.drop_distilled()
        self.writer.start_over()
        self.redactor.take_counts()
        self.report.return_to(self.before)
        self._begin()
