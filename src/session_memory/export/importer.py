"""Taking an export into a store: what is known stays as it is, what was forgotten stays out.

A session is written only when the store lacks something of it. A log that is read later, at the
path the export names, is read whole and has the last word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import msgspec

from session_memory.core.fingerprint import was_forgotten
from session_memory.errors import Refused
from session_memory.export.drafts import Drafting, Likeness, likeness, likeness_of
from session_memory.export.records import (
    EventLine,
    Line,
    Manifest,
    SessionLine,
    event_mark,
    store_mark,
    usage_draft,
)
from session_memory.export.redaction import Cleaning
from session_memory.redact.engine import Redactor
from session_memory.store.exchange import Gone
from session_memory.store.port import Store, Writer
from session_memory.store.values import EventDraft, SessionHandle, UsageDraft

COMMIT_BYTES = 16 * 1024 * 1024
BATCH = 500


class Taken(msgspec.Struct):
    """What an import did, or would do."""

    new: int = 0
    """Sessions the store did not have."""
    grown: int = 0
    """Sessions it had, but not every event of."""
    known: int = 0
    """Sessions it had already."""
    forgotten: int = 0
    """Sessions the user forgot here."""
    events: int = 0
    """Events that came in."""
    known_events: int = 0
    forgotten_events: int = 0
    redactions: dict[str, int] = {}
    """Secrets that this store's rules found and the other's did not."""


class Receiver(msgspec.Struct, frozen=True):
    """Where an import goes."""

    store: Store
    redactor: Redactor
    distil: Callable[[Writer], object]
    """Makes the digests of what came in."""
    dry_run: bool = False


def take(receiver: Receiver, manifest: Manifest, lines: Iterable[Line]) -> Taken:
    """Take in everything the store does not have yet."""
    taken = Taken()
    with receiver.store.writing() as writer:
        taking = _Taking(receiver, writer, manifest, taken)
        if not receiver.dry_run:
            receiver.store.exchange.expect_twins()
        for line in lines:
            taking.add(line)
        taking.end_session()
        taking.commit()
    taken.redactions = receiver.redactor.take_counts()
    return taken


class _Open(msgspec.Struct):
    """The session whose lines are being read."""

    line: SessionLine
    drafting: Drafting
    handle: SessionHandle | None
    """None as long as nothing of it was written."""
    existed: bool
    held: Counter[Likeness]
    """What the store has of it already."""
    marks: set[str]
    responses: dict[int, int] = {}
    """Key of a response by this import to the key it has here already."""
    drafts: list[tuple[int, EventDraft]] = []
    new_events: int = 0
    seen: Counter[Likeness] = Counter()


class _Taking:
    def __init__(
        self, receiver: Receiver, writer: Writer, manifest: Manifest, taken: Taken
    ) -> None:
        self._to = receiver
        self._store = receiver.store
        self._writer = writer
        self._taken = taken
        self._clean = Cleaning(receiver.redactor)
        self._same_store = manifest.store == store_mark(self._store.tag_key)
        self._same_keys = manifest.fingerprint_key == self._store.fingerprint_key.hex()
        gone = self._store.exchange.forgotten() if self._same_store else ()
        self._gone_marks = {event_mark(self._store.tag_key, number) for number in gone}
        self._elsewhere = self._store.forgotten_elsewhere()
        self._open: _Open | None = None
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

    def _begin(self, line: SessionLine) -> _Open | None:
        told = line.session
        if self._is_forgotten(told.flavor, told.external_id, told.parent_external_id):
            self._taken.forgotten += 1
            return None
        drafting = Drafting(
            told.external_id,
            self._to.redactor,
            self._store.fingerprint_key,
            same_keys=self._same_keys,
        )
        here = self._here(told.flavor, told.external_id)
        if here is None:
            return _Open(line, drafting, None, False, Counter(), set())
        session_id, evicted = here
        if evicted:  # it was here whole and went by its age or size: that is not undone
            self._taken.known += 1
            return None
        open_ = _Open(line, drafting, None, True, Counter(), set())
        for event in self._store.all_events(session_id):
            open_.held[likeness_of(event)] += 1
            if self._same_store:
                open_.marks.add(event_mark(self._store.tag_key, event.fingerprint))
        ours = {_figures(u): u.key for u in self._store.exchange.origins(session_id).usages}
        for usage in line.usages:
            key = drafting.response_key(usage.key)
            open_.responses[key] = ours.get(_figures(usage_draft(usage, key)), key)
        return open_

    def _is_forgotten(self, flavor: str, external_id: str, parent: str | None) -> bool:
        if self._writer.is_forgotten(flavor, external_id):
            return True
        return parent is not None and self._writer.is_forgotten(flavor, parent)

    def _here(self, flavor: str, external_id: str) -> tuple[int, bool] | None:
        """Our number of a session that is stored, and whether raw text of it was evicted."""
        number = self._store.exchange.find(flavor, external_id)
        if number is None:
            return None
        partly = self._store.evicted_digest(number) is not None
        whole = self._store.session(number).state == "raw_evicted"
        # What was lost before it was distilled may come back.
        return number, partly or (whole and not self._store.lost_events(number))

    def end_session(self) -> None:
        """Write what is left of the session that was read, and count it."""
        open_, self._open = self._open, None
        if open_ is None:
            return
        self._flush(open_)
        if open_.existed:
            self._taken.grown += bool(open_.new_events)
            self._taken.known += not open_.new_events
            return
        self._taken.new += 1
        if not self._to.dry_run:
            self._written(open_)

    # events

    def _event(self, open_: _Open, line: EventLine) -> None:
        if line.log >= len(open_.line.logs):
            raise Refused(f"an event of {open_.line.session.external_id} names no log of it")
        try:
            draft = open_.drafting.draft(line)
        except ValueError:
            raise Refused(
                f"a response of {open_.line.session.external_id} has no proper key"
            ) from None
        like = likeness(line.kind, line.at, line.call_id, line.text)
        again = likeness(draft.kind, draft.at, draft.call_id, draft.body.decode("utf-8", "replace"))
        open_.seen[like] += 1
        held = max(open_.held[like], open_.held[again])
        if line.mark in open_.marks or open_.seen[like] <= held:
            self._taken.known_events += 1
        elif line.mark in self._gone_marks or was_forgotten(
            self._elsewhere,
            line,
            line.text.encode("utf-8", "replace"),
            open_.line.session.external_id,
        ):
            self._taken.forgotten_events += 1
        else:
            if draft.usage_key is not None:
                draft.usage_key = open_.responses.get(draft.usage_key, draft.usage_key)
            open_.drafts.append((line.log, draft))
        self._bytes += len(draft.body)
        if len(open_.drafts) >= BATCH:
            self._flush(open_)

    def _is_forgotten_elsewhere(self, open_: _Open, line: EventLine) -> bool:
        body = line.text.encode("utf-8", "replace")
        return was_forgotten(self._elsewhere, line, body, open_.line.session.external_id)

    def _flush(self, open_: _Open) -> None:
        """Write the events that are new; the lookup also finds tombstones and forks."""
        drafts, open_.drafts = open_.drafts, []
        found = self._writer.holders([draft.fingerprint for _, draft in drafts])
        new: dict[int, list[EventDraft]] = {}
        shared: set[int] = set()
        own = self._id_of(open_)
        for log, draft in drafts:
            holders = found.get(draft.fingerprint, [])
            if any(holder.forgotten for holder in holders):
                self._taken.forgotten_events += 1
            elif any(holder.session_id == own and not holder.lost for holder in holders):
                self._taken.known_events += 1
            else:
                open_.drafting.add_window(draft)
                new.setdefault(log, []).append(draft)
                if holders:
                    shared.add(draft.fingerprint)
        count = sum(len(group) for group in new.values())
        open_.new_events += count
        self._taken.events += count
        if self._to.dry_run or not count:
            return
        handle = self._written(open_)
        self._writer.note_shared(shared)
        for log, group in new.items():
            path = self._clean.word(open_.line.logs[log])
            source = self._writer.source(open_.line.session.flavor, path)
            self._writer.append(handle, source, group)
        if self._bytes >= COMMIT_BYTES:  # a long session: what is here so far is sound by itself
            self._settle()
            self._writer.commit()
            self._bytes = 0

    def _id_of(self, open_: _Open) -> int | None:
        if open_.handle is not None:
            return open_.handle.id
        told = open_.line.session
        here = self._here(told.flavor, told.external_id) if open_.existed else None
        return here[0] if here else None

    # what is told about the session

    def _written(self, open_: _Open) -> SessionHandle:
        """The session in this transaction; with its facts and responses when it is first asked."""
        told, line = open_.line.session, open_.line
        handle = self._writer.session(told.flavor, told.external_id, told.parent_external_id)
        if open_.handle is not None:
            return handle
        open_.handle = handle
        self._touched[handle.id] = line
        sources = [self._writer.source(told.flavor, self._clean.word(path)) for path in line.logs]
        for source in sources:
            self._writer.link(handle, source)
        for fact in line.facts:
            if fact.log >= len(sources):
                raise Refused(f"a fact of {told.external_id} names no log of it")
            parent = str(fact.value) if fact.name == "forked_from" else None
            if parent is None or not self._writer.is_forgotten(told.flavor, parent):
                self._writer.add_facts(handle, sources[fact.log], [self._clean.fact(fact)])
        self._writer.add_usage(handle, self._usages(open_))
        notes = self._clean.notes(line)
        self._store.exchange.add_notes(told.flavor, told.external_id, notes)
        if not open_.existed:
            self._keep_lasting(handle.id, line)
        return handle

    def _usages(self, open_: _Open) -> list[UsageDraft]:
        drafts: list[UsageDraft] = []
        for usage in open_.line.usages:
            key = open_.drafting.response_key(usage.key)
            draft = usage_draft(usage, open_.responses.get(key, key))
            drafts.append(msgspec.structs.replace(draft, model=self._clean.word(draft.model)))
        return drafts

    def _keep_lasting(self, session_id: int, line: SessionLine) -> None:
        """Notes, and what was distilled of text that the other store had evicted."""
        kept = self._clean.lasting(line, session_id)
        if kept:
            self._writer.save_observations(session_id, kept)
        told = line.session
        if told.state == "raw_evicted" or line.evicted_digest is not None:
            # A digest to add to is needed only where events are left; without it a log that is
            # read again replaces the digest instead of counting the same events twice.
            partly = line.evicted_digest if told.state != "raw_evicted" else None
            self._evicted[session_id] = Gone(
                told.event_count, False, self._clean.digest(partly), line.lasting
            )

    # the end of a transaction

    def commit(self) -> None:
        """Make what came in durable, and distil what is complete."""
        if self._to.dry_run or not self._touched:
            return
        self._settle()
        for session_id, gone in self._evicted.items():
            self._restore(session_id, gone)
        self._writer.commit()
        self._to.distil(self._writer)
        self._writer.commit()
        self._touched, self._evicted, self._bytes = {}, {}, 0

    def _settle(self) -> None:
        """Derive what follows from the rows."""
        self._writer.settle(set(self._touched))
        for session_id, line in self._touched.items():
            self._assign(session_id, line)

    def _assign(self, session_id: int, line: SessionLine) -> None:
        found = self._clean.resolution(line)
        if found is not None and line.project is not None:
            cwd, _ = self._writer.whereabouts(session_id)
            self._writer.assign_project(session_id, cwd or "", found, line.project.domain or "")

    def _restore(self, session_id: int, gone: Gone) -> None:
        line = self._touched[session_id]
        live = sum(1 for _ in self._store.events(session_id))
        gone = msgspec.structs.replace(gone, events=max(gone.events - live, 0), whole=not live)
        self._store.exchange.restore_gone(session_id, gone)
        digest = self._clean.digest(line.digest)
        if not live and digest is not None:
            self._writer.save_digest(session_id, digest, line.session.low_value)


def _figures(usage: UsageDraft) -> tuple[object, ...]:
    """A response by its figures: the time to the millisecond and seven counts hardly meet twice."""
    return msgspec.structs.astuple(usage)[1:9]
