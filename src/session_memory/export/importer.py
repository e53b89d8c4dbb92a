"""Writes what a store lacks of an export into it; what was forgotten there stays out.

A session is written only if the store lacks something of it. A log that is later read from the path
the export names is read completely and wins over the import.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import msgspec

from session_memory.core.fingerprint import was_forgotten
from session_memory.errors import Refused
from session_memory.export.drafts import ContentKey, EventDrafter, content_key, stored_content_key
from session_memory.export.records import (
    EventLine,
    Line,
    Manifest,
    SessionLine,
    event_mark,
    store_mark,
    usage_draft,
)
from session_memory.export.redaction import RecordRedactor
from session_memory.redact.engine import Redactor
from session_memory.store.exchange import Gone
from session_memory.store.port import Store, Writer
from session_memory.store.values import EventDraft, SessionHandle, UsageDraft

COMMIT_BYTES = 16 * 1024 * 1024
BATCH = 500


class ImportReport(msgspec.Struct):
    """What an import did, or would do."""

    new: int = 0
    """Sessions the store did not have."""
    grown: int = 0
    """Sessions it had, but not with all events."""
    known: int = 0
    """Sessions it had already."""
    forgotten: int = 0
    """Sessions the user forgot here."""
    events: int = 0
    """Events that were imported."""
    known_events: int = 0
    forgotten_events: int = 0
    redactions: dict[str, int] = {}
    """Secrets that the rules of this store found and those of the other did not."""


class ImportContext(msgspec.Struct, frozen=True):
    """The store that is imported into, and how."""

    store: Store
    redactor: Redactor
    distil: Callable[[Writer], object]
    """Makes the digests of what was imported."""
    dry_run: bool = False


def import_lines(context: ImportContext, manifest: Manifest, lines: Iterable[Line]) -> ImportReport:
    """Import everything the store does not have yet."""
    report = ImportReport()
    with context.store.writing() as writer:
        importer = _Importer(context, writer, manifest, report)
        if not context.dry_run:
            context.store.exchange.expect_twins()
        for line in lines:
            importer.add(line)
        importer.end_session()
        importer.commit()
    report.redactions = context.redactor.take_counts()
    return report


class _OpenSession(msgspec.Struct):
    """The session whose lines are being read."""

    line: SessionLine
    drafter: EventDrafter
    existed: bool
    handle: SessionHandle | None = None
    """None until something of it was written."""
    stored: Counter[ContentKey] = msgspec.field(default_factory=Counter)
    """Events that the store already has."""
    marks: set[str] = set()
    """Their marks, if the export comes from this store."""
    seen: Counter[ContentKey] = msgspec.field(default_factory=Counter)
    """Events of the export so far."""
    responses: dict[int, int] = {}
    """Key of a response in this import to the key it already has here."""
    drafts: list[tuple[int, EventDraft]] = []
    new_events: int = 0


class _Importer:
    def __init__(
        self, context: ImportContext, writer: Writer, manifest: Manifest, report: ImportReport
    ) -> None:
        self._context = context
        self._store = context.store
        self._writer = writer
        self._report = report
        self._redactor = RecordRedactor(context.redactor)
        self._same_store = manifest.store == store_mark(self._store.tag_key)
        self._same_keys = manifest.fingerprint_key == self._store.fingerprint_key.hex()
        forgotten = self._store.exchange.forgotten() if self._same_store else ()
        self._forgotten_marks = {event_mark(self._store.tag_key, number) for number in forgotten}
        self._forgotten_elsewhere = self._store.forgotten_elsewhere()
        self._open: _OpenSession | None = None
        self._touched: dict[int, SessionLine] = {}
        self._evicted: dict[int, Gone] = {}
        self._bytes = 0

    def add(self, line: Line) -> None:
        match line:
            case SessionLine():
                self.end_session()
                if self._bytes >= COMMIT_BYTES:
                    self.commit()
                self._open = self._begin(line)
            case EventLine():
                if self._open is not None:
                    self._event(self._open, line)

    # a session begins and ends

    def _begin(self, line: SessionLine) -> _OpenSession | None:
        session = line.session
        if self._is_forgotten(session.flavor, session.external_id, session.parent_external_id):
            self._report.forgotten += 1
            return None
        drafter = EventDrafter(
            session.external_id,
            self._context.redactor,
            self._store.fingerprint_key,
            same_keys=self._same_keys,
        )
        stored = self._stored(session.flavor, session.external_id)
        open_ = _OpenSession(line, drafter, existed=stored is not None)
        if stored is None:
            return open_
        session_id, evicted = stored
        if evicted:  # it was here complete and was evicted by age or size: that is not undone
            self._report.known += 1
            return None
        for event in self._store.all_events(session_id):
            open_.stored[stored_content_key(event)] += 1
            if self._same_store:
                open_.marks.add(event_mark(self._store.tag_key, event.fingerprint))
        usages = self._store.exchange.origins(session_id).usages
        stored_keys = {_figures(usage): usage.key for usage in usages}
        for usage in line.usages:
            key = drafter.response_key(usage.key)
            open_.responses[key] = stored_keys.get(_figures(usage_draft(usage, key)), key)
        return open_

    def _is_forgotten(self, flavor: str, external_id: str, parent: str | None) -> bool:
        if self._writer.is_forgotten(flavor, external_id):
            return True
        return parent is not None and self._writer.is_forgotten(flavor, parent)

    def _stored(self, flavor: str, external_id: str) -> tuple[int, bool] | None:
        """Our number of a stored session, and whether raw text of it was evicted."""
        number = self._store.exchange.find(flavor, external_id)
        if number is None:
            return None
        partly = self._store.evicted_digest(number) is not None
        whole = self._store.session(number).state == "raw_evicted"
        # Text that was lost before it was distilled may come back.
        return number, partly or (whole and not self._store.lost_events(number))

    def end_session(self) -> None:
        """Write the rest of the session that was read, and count it."""
        open_, self._open = self._open, None
        if open_ is None:
            return
        self._flush(open_)
        if open_.existed:
            self._report.grown += bool(open_.new_events)
            self._report.known += not open_.new_events
            return
        self._report.new += 1
        if not self._context.dry_run:
            self._write_session(open_)

    # events

    def _event(self, open_: _OpenSession, line: EventLine) -> None:
        if line.log >= len(open_.line.logs):
            raise Refused(f"an event of {open_.line.session.external_id} names no log of it")
        try:
            draft = open_.drafter.draft(line)
        except ValueError:
            raise Refused(
                f"a response of {open_.line.session.external_id} has no proper key"
            ) from None
        key = content_key(line.kind, line.at, line.call_id, line.text)
        text = draft.body.decode("utf-8", "replace")
        redacted_key = content_key(draft.kind, draft.at, draft.call_id, text)
        open_.seen[key] += 1
        if line.mark in open_.marks or open_.seen[key] <= max(
            open_.stored[key], open_.stored[redacted_key]
        ):
            self._report.known_events += 1
        elif line.mark in self._forgotten_marks or was_forgotten(
            self._forgotten_elsewhere,
            line,
            line.text.encode("utf-8", "replace"),
            open_.line.session.external_id,
        ):
            self._report.forgotten_events += 1
        else:
            if draft.usage_key is not None:
                draft.usage_key = open_.responses.get(draft.usage_key, draft.usage_key)
            open_.drafts.append((line.log, draft))
        self._bytes += len(draft.body)
        if len(open_.drafts) >= BATCH:
            self._flush(open_)

    def _flush(self, open_: _OpenSession) -> None:
        """Write the new events; the lookup also finds tombstones and forks."""
        drafts, open_.drafts = open_.drafts, []
        holders_of = self._writer.holders([draft.fingerprint for _, draft in drafts])
        new: dict[int, list[EventDraft]] = {}
        shared: set[int] = set()
        own = self._id_of(open_)
        for log, draft in drafts:
            holders = holders_of.get(draft.fingerprint, [])
            if any(holder.forgotten for holder in holders):
                self._report.forgotten_events += 1
            elif any(holder.session_id == own and not holder.lost for holder in holders):
                self._report.known_events += 1
            else:
                open_.drafter.add_window(draft)
                new.setdefault(log, []).append(draft)
                if holders:
                    shared.add(draft.fingerprint)
        count = sum(len(group) for group in new.values())
        open_.new_events += count
        self._report.events += count
        if self._context.dry_run or not count:
            return
        handle = self._write_session(open_)
        self._writer.note_shared(shared)
        for log, group in new.items():
            path = self._redactor.word(open_.line.logs[log])
            source = self._writer.source(open_.line.session.flavor, path)
            self._writer.append(handle, source, group)
        if self._bytes >= COMMIT_BYTES:  # a long session: the part so far is valid by itself
            self._settle()
            self._writer.commit()
            self._bytes = 0

    def _id_of(self, open_: _OpenSession) -> int | None:
        if open_.handle is not None:
            return open_.handle.id
        session = open_.line.session
        stored = self._stored(session.flavor, session.external_id) if open_.existed else None
        return stored[0] if stored else None

    # the session itself

    def _write_session(self, open_: _OpenSession) -> SessionHandle:
        """The session in this transaction; its facts and responses are written the first time."""
        line, session = open_.line, open_.line.session
        handle = self._writer.session(
            session.flavor, session.external_id, session.parent_external_id
        )
        if open_.handle is not None:
            return handle
        open_.handle = handle
        self._touched[handle.id] = line
        sources = [
            self._writer.source(session.flavor, self._redactor.word(path)) for path in line.logs
        ]
        for source in sources:
            self._writer.link(handle, source)
        for fact in line.facts:
            if fact.log >= len(sources):
                raise Refused(f"a fact of {session.external_id} names no log of it")
            parent = str(fact.value) if fact.name == "forked_from" else None
            if parent is None or not self._writer.is_forgotten(session.flavor, parent):
                self._writer.add_facts(handle, sources[fact.log], [self._redactor.fact(fact)])
        self._writer.add_usage(handle, self._usages(open_))
        notes = self._redactor.notes(line)
        self._store.exchange.add_notes(session.flavor, session.external_id, notes)
        if not open_.existed:
            self._write_lasting(handle.id, line)
        return handle

    def _usages(self, open_: _OpenSession) -> list[UsageDraft]:
        drafts: list[UsageDraft] = []
        for usage in open_.line.usages:
            key = open_.drafter.response_key(usage.key)
            draft = usage_draft(usage, open_.responses.get(key, key))
            drafts.append(msgspec.structs.replace(draft, model=self._redactor.word(draft.model)))
        return drafts

    def _write_lasting(self, session_id: int, line: SessionLine) -> None:
        """Notes, and what was distilled from text that the other store had evicted."""
        observations = self._redactor.lasting(line, session_id)
        if observations:
            self._writer.save_observations({session_id: observations})
        session = line.session
        if session.state == "raw_evicted" or line.evicted_digest is not None:
            # A digest to add to is needed only where events are left. Without it a log that is
            # read again replaces the digest instead of counting the same events twice.
            partly = line.evicted_digest if session.state != "raw_evicted" else None
            self._evicted[session_id] = Gone(
                session.event_count, False, self._redactor.digest(partly), line.lasting
            )

    # the end of a transaction

    def commit(self) -> None:
        """Commit what was imported, and distil what is complete."""
        if self._context.dry_run or not self._touched:
            return
        self._settle()
        for session_id, evicted in self._evicted.items():
            self._restore(session_id, evicted)
        self._writer.commit()
        self._context.distil(self._writer)
        self._writer.commit()
        self._touched, self._evicted, self._bytes = {}, {}, 0

    def _settle(self) -> None:
        """Update what is derived from the rows."""
        self._writer.settle(set(self._touched))
        for session_id, line in self._touched.items():
            self._assign(session_id, line)

    def _assign(self, session_id: int, line: SessionLine) -> None:
        resolution = self._redactor.resolution(line)
        if resolution is not None and line.project is not None:
            cwd = self._writer.whereabouts(session_id).cwd
            self._writer.assign_project(
                session_id, cwd or "", resolution, line.project.domain or ""
            )

    def _restore(self, session_id: int, evicted: Gone) -> None:
        line = self._touched[session_id]
        live = sum(1 for _ in self._store.events(session_id))
        evicted = msgspec.structs.replace(
            evicted, events=max(evicted.events - live, 0), whole=not live
        )
        self._store.exchange.restore_gone(session_id, evicted)
        digest = self._redactor.digest(line.digest)
        if not live and digest is not None:
            self._writer.save_digest(session_id, digest, line.session.low_value)


def _figures(usage: UsageDraft) -> tuple[object, ...]:
    """Time and counts of a response: two responses with all of them equal are the same."""
    return msgspec.structs.astuple(usage)[1:9]
