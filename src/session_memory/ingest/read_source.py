"""Reading one source into an open write transaction, block by block, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from session_memory.adapters.common import Adapter, SessionPart, SourceFile
from session_memory.adapters.packed import is_packed
from session_memory.core.cursor import Cursor, ReadPlan, hashes_of, plan_read
from session_memory.core.facts import Fact
from session_memory.core.index_text import BEFORE
from session_memory.core.pauses import Pauses
from session_memory.errors import AdapterError, StoreDamaged
from session_memory.file_names import name_to_text
from session_memory.ingest.context import Log
from session_memory.ingest.counting import add_counts
from session_memory.ingest.cut_logs import file_hashes, is_torn, only_grows
from session_memory.ingest.discover import stamp_of
from session_memory.ingest.drafted import (
    BlockFigures,
    DraftedPart,
    PartHeading,
    Prepared,
    PreparedPart,
    draft_part,
    heading_of,
    without_pauses,
)
from session_memory.ingest.identify import ProjectFinder
from session_memory.ingest.merge import Reading, place
from session_memory.ingest.no_record import NoRecordError, refuse_no_log
from session_memory.ingest.normalize import Drafter
from session_memory.ingest.report import SweepReport
from session_memory.settings import Ingest
from session_memory.store.port import EventDraft, SessionHandle, Store, Writer

_WHY_READ = {
    "new": "new file",
    "tail": "grew, from byte {}",
    "rewritten": "from its start, it was rewritten or shares events with other files",
    "replaced": "from its start, what was read of it before is not in it any more",
    "reparse": "from its start, with a newer parser",
    "unchanged": "nothing new in it",
}


class UnreadError(Exception):
    """A source could not be read, and the fault is its own; nothing has to be rolled back."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class ReadBlock(msgspec.Struct):
    """A block on its way into the store."""

    figures: BlockFigures
    parts: list[tuple[PartHeading, SessionPart | PreparedPart]]
    hashes: tuple[bytes, bytes] | None = None
    """See PreparedBlock; None where the file has to be read again to know them."""


class SourceReader(msgspec.Struct):
    """Reads sources one after the other into one writer."""

    store: Store
    writer: Writer
    drafter: Drafter
    finder: ProjectFinder
    pauses: Pauses
    limits: Ingest
    report: SweepReport
    log: Log = lambda _text: None
    touched: set[int] = set()
    """Sessions changed in this transaction."""
    new_sessions: set[int] = set()
    """Sessions that this transaction created."""
    pending_bytes: int = 0
    """Bytes read in this transaction."""
    cut: set[int] = set()
    """Sessions of logs that were cut in this sweep."""

    def read(
        self,
        adapter: Adapter,
        file: SourceFile,
        *,
        every_block: bool = False,
        prepared: Prepared | None = None,
    ) -> Iterator[set[int]]:
        """Read what is new in one file and move its cursor.

        Where enough was read for a commit, in the middle of the file, yields the sessions that may
        go on in the rest of it; with `every_block` that is after each block, so that a later one
        can fail alone. `prepared` is what a pool process made of a file that was
        never read. Raises UnreadError where the file is to blame and all that was written may
        stay. After any other error the transaction has to be rolled back.
        """
        try:
            plan = self._plan(adapter, file)
        except Exception as error:
            if self.store.is_unusable_after(error):
                raise
            raise UnreadError(error) from error
        self.log(f"read {name_to_text(file.path)}: {_WHY_READ[plan.kind].format(plan.offset)}")
        if plan.kind == "unchanged":
            return
        pass_ = _Pass(
            adapter,
            file,
            Reading(0, self.drafter.key, plan.offset, adapter.writes_again),
            plan.state,
            plan.offset,
            plan.kind in ("rewritten", "replaced", "reparse"),
            plan.kind == "reparse",
            plan.kind == "replaced",
            plan.shrunk,
        )
        ready = prepared if plan.kind == "new" else None
        for block in self._blocks(pass_, ready):
            if plan.overwritten and not (pass_.reading.source_id or block.figures.records):
                pass_.replaced = True  # nothing is left of what was read before
            self._begin(pass_)
            self._take_block(pass_, block)
            if pass_.replaced:
                continue  # only its end shows whether what was read before still counts
            if self.pending_bytes >= self.limits.commit_bytes or (every_block and not pass_.again):
                # A whole re-read that is cut off starts over: only its end may move the cursor.
                if not pass_.again:
                    self._save_cursor(pass_, finished=False)
                yield pass_.sessions
                pass_.handles.clear()
        self._begin(pass_)
        source_id = pass_.reading.source_id
        if pass_.replaced:
            self._end_replaced(pass_)
        elif pass_.again:
            self._end_rewritten(pass_)
        if pass_.forgotten and not pass_.sessions:
            self.writer.leave_source(source_id, pass_.name, stamp_of(file))
        else:
            self._save_cursor(pass_, finished=True)
        if pass_.cut:
            self.writer.quarantine(source_id, [pass_.end])  # so that it is known for good
            raise UnreadError(AdapterError(f"{pass_.cut}; what could be unpacked was read"))
        if not pass_.records and not pass_.reading.offset:
            try:
                refuse_no_log(adapter, file, pass_.damaged, pass_.too_long)
            except NoRecordError as error:
                self.writer.quarantine(source_id, [0])  # so that it is known for good
                raise UnreadError(error) from None

    def note_container(self, adapter: Adapter, container: SourceFile) -> None:
        """Move the cursor of a file whose sessions are sources of their own."""
        name = name_to_text(container.path)
        source_id = self.writer.source(adapter.name, name)
        stamp = stamp_of(container)
        self.writer.save_cursor(
            name, Cursor(source_id, stamp, b"", b"", 0, {}, adapter.parser_version)
        )

    def _end_replaced(self, pass_: _Pass) -> None:
        """Decide what becomes of all that was read before from a file that was replaced.

        A log that was cut or emptied says nothing new: memory keeps what it said. One that says
        something else supersedes it.
        """
        reading = pass_.reading
        lost = self.store.sole_sessions(pass_.aside) if self._was_cut(pass_) else None
        if lost:
            if pass_.new:  # a record that was cut in two is no other state of it
                self.writer.retire(reading.source_id, reading.seen - pass_.new, delete=False)
                self.touched |= pass_.sessions
            self.writer.keep_aside(pass_.aside)
            self.cut |= lost
            self.report.warnings.append(
                f"{pass_.name} was cut or emptied; everything captured from it is kept"
            )
            return
        self.report.superseded += self.writer.absorb(pass_.aside, reading.source_id)
        self.touched |= pass_.sessions

    def _was_cut(self, pass_: _Pass) -> bool:
        """Whether what is left of a replaced file stood in it before, with more behind it."""
        news = pass_.news
        if pass_.cut:
            return True
        shorter = self._is_shorter(pass_) and only_grows(pass_.adapter, pass_.file)
        if not news and (not pass_.own or shorter):
            return True
        earlier = pass_.reading.seen - pass_.new
        if not (pass_.own and self.writer.holds_beginning(pass_.aside, earlier)):
            return False
        return not news or is_torn(news, self.writer.first_lost(pass_.aside))

    def _is_shorter(self, pass_: _Pass) -> bool:
        """Whether a replaced file says less than before; a packed one may only be packed better."""
        if not is_packed(pass_.file.path):
            return pass_.shrunk
        ends = {aside.source_id: aside.read_to for aside in self.store.set_aside(pass_.name)}
        return pass_.end < ends.get(pass_.aside, 0)

    def _end_rewritten(self, pass_: _Pass) -> None:
        """Retire what a file that was read whole once more does not say any longer.

        What it said before it was cut goes too, where the file holds all of that again or its
        agent has written it anew. One that only grew behind the cut says nothing against it.
        """
        adapter, source_id = pass_.adapter, pass_.reading.source_id
        retired = self.writer.retire(source_id, pass_.reading.seen, delete=pass_.reparse)
        asides = self.store.set_aside(pass_.name) if pass_.own and not adapter.incremental else []
        is_anew = retired and not (pass_.reparse or only_grows(adapter, pass_.file))
        for aside in asides:
            hashes = (aside.head_hash, aside.tail_hash)
            if is_anew or file_hashes(adapter, pass_.file, aside.read_to) == hashes:
                retired += self.writer.absorb(aside.source_id, source_id)
        self.report.superseded += retired
        self.touched |= pass_.sessions  # settle once more, now without what was retired

    def _begin(self, pass_: _Pass) -> None:
        """Write that a source is being read, once its first block turned out to be readable."""
        if pass_.reading.source_id:
            return
        pass_.reading.source_id = self.writer.source(pass_.adapter.name, pass_.name)
        if pass_.replaced:
            pass_.aside = pass_.reading.source_id
            pass_.reading.source_id = self.writer.set_aside(pass_.aside)
        elif pass_.again:
            self.writer.restart_source(pass_.reading.source_id)

    def _blocks(self, pass_: _Pass, prepared: Prepared | None) -> Iterator[ReadBlock]:
        """Read and parse block by block; whatever an agent's file can cause is raised in here."""
        try:
            for block in self._parsed(pass_) if prepared is None else _ready(prepared):
                for heading, _ in block.parts:
                    self._check_wanted(pass_, heading)
                yield block
        except Exception as error:
            if pass_.again and pass_.reading.source_id:
                raise  # its earlier content is deleted already
            raise UnreadError(error) from error

    def _parsed(self, pass_: _Pass) -> Iterator[ReadBlock]:
        adapter, file = pass_.adapter, pass_.file
        for block in adapter.read(file, pass_.reading.offset, self.limits.line_cap_bytes):
            normalized = adapter.parse(file, block, pass_.state)
            parts: list[tuple[PartHeading, SessionPart | PreparedPart]] = []
            for part in normalized.sessions:
                heading = heading_of(part)
                part.external_id = heading.external_id
                parts.append((heading, part))
            # Those of a packed log are of its packed bytes.
            hashes = hashes_of(*block.ends) if block.ends and not is_packed(file.path) else None
            yield ReadBlock(BlockFigures.of(block, normalized), parts, hashes)

    def _check_wanted(self, pass_: _Pass, part: PartHeading) -> None:
        """Note where a part's session ran and whether it may be captured."""
        if part.cwd is not None:
            pass_.cwds.setdefault(part.external_id, part.cwd)
        cwd = pass_.cwds.get(part.external_id)
        if part.external_id not in pass_.unwanted and self.finder.unwanted(cwd):
            pass_.unwanted.add(part.external_id)
            self.log(f"leave out session {part.external_id}: {cwd} is excluded")

    def _plan(self, adapter: Adapter, file: SourceFile) -> ReadPlan:
        cursor = self.store.cursor(name_to_text(file.path))
        if cursor is None:
            return ReadPlan("new")
        with adapter.open(file) as stream:

            def read(offset: int, length: int) -> bytes:
                stream.seek(offset)
                return stream.read(length)

            plan = plan_read(cursor, stamp_of(file), adapter.parser_version, read)
        is_packed_log = is_packed(file.path)
        if plan.shrunk and is_packed_log:  # packed anew, perhaps better
            plan = ReadPlan(plan.kind)
        if plan.kind == "replaced" and not (adapter.incremental or plan.shrunk or is_packed_log):
            # its agent writes such a file anew at every change
            return ReadPlan("rewritten", overwritten=file.size <= cursor.stamp[2])
        if plan.kind != "tail":
            return plan
        # Equal events of several files are numbered per file, from its start.
        if not adapter.incremental or self.store.sharing(cursor.source_id):
            return ReadPlan("rewritten")
        return plan

    def _take_block(self, pass_: _Pass, block: ReadBlock) -> None:
        figures = block.figures
        pass_.state, pass_.end, pass_.hashes = figures.state, figures.end, block.hashes
        add_counts(self.report, pass_.adapter.name, figures)
        pass_.records += figures.records
        pass_.damaged += figures.parse_errors
        pass_.too_long += figures.too_long
        pass_.cut = figures.cut
        if figures.damaged:
            self.writer.quarantine(pass_.reading.source_id, figures.damaged)
        for heading, part in block.parts:
            self._take_part(pass_, heading, part)
        self.report.bytes_read += figures.size
        self.pending_bytes += figures.size

    def _take_part(
        self, pass_: _Pass, heading: PartHeading, part: SessionPart | PreparedPart
    ) -> None:
        if heading.external_id in pass_.unwanted:
            self.report.excluded += heading.events
            return
        if isinstance(part, SessionPart):
            part = without_pauses(part, self.pauses)
        count = len(part.events if isinstance(part, SessionPart) else part.drafted.events)
        self.report.excluded += heading.events - count
        writer, flavor = self.writer, pass_.adapter.name
        if self._is_forgotten(flavor, heading):
            self.report.forgotten += count
            pass_.forgotten = True
            self.log(f"leave out session {heading.external_id}: it was forgotten")
            return
        session = pass_.handles.get(heading.external_id)
        if session is None:
            session = writer.session(flavor, heading.external_id, heading.parent_external_id)
            pass_.handles[heading.external_id] = session
            writer.link(session, pass_.reading.source_id)
        pass_.sessions.add(session.id)
        if heading.is_own:
            pass_.own.add(session.id)
        self.touched.add(session.id)
        drafted = self._drafted(pass_, session, part)
        self._take_events(pass_, drafted.events, session)
        writer.add_facts(session, pass_.reading.source_id, self._facts(flavor, drafted.facts))
        if drafted.usages:
            writer.add_usage(session, drafted.usages)

    def _drafted(
        self, pass_: _Pass, session: SessionHandle, part: SessionPart | PreparedPart
    ) -> DraftedPart:
        if isinstance(part, PreparedPart):
            self.drafter.redactor.counts.update(part.redactions)
            return part.drafted
        turns = pass_.turns.get(session.id)
        if turns is None:
            old = not session.created and pass_.reading.offset
            turns = self._last_turns(session) if old else []
            pass_.turns[session.id] = turns
        return draft_part(self.drafter, pass_.adapter, pass_.file, part, turns)

    def _facts(self, flavor: str, facts: list[Fact]) -> list[Fact]:
        """What a part says of its session, save the name of a parent that was forgotten."""
        return [
            fact
            for fact in facts
            if fact.name != "forked_from" or not self.writer.is_forgotten(flavor, str(fact.value))
        ]

    def _is_forgotten(self, flavor: str, part: PartHeading) -> bool:
        """Whether the user forgot the session, or the one it is a sub-agent of."""
        parent = part.parent_external_id
        return self.writer.is_forgotten(flavor, part.external_id) or (
            parent is not None and self.writer.is_forgotten(flavor, parent)
        )

    def _take_events(self, pass_: _Pass, drafts: list[EventDraft], session: SessionHandle) -> None:
        self._note_mentions(pass_, session, drafts)
        placement = place(
            session.id,
            drafts,
            pass_.reading,
            self.writer.holders,
            # A new parser gives old records new fingerprints; a rewritten log is news instead.
            session.evicted_to.get(pass_.reading.source_id, 0) if pass_.reparse else 0,
        )
        self.report.forgotten += placement.forgotten
        if placement.shared:
            self.writer.note_shared(placement.shared)
        if placement.held:
            self.writer.confirm(pass_.reading.source_id, placement.held)
        if placement.new:
            if session.id in pass_.own and len(pass_.news) < 2:
                pass_.news += placement.new[:2]
            self.writer.append(session, pass_.reading.source_id, placement.new)
            self.report.events += len(placement.new)
            if session.created and session.id not in self.new_sessions:
                self.new_sessions.add(session.id)
                self.report.sessions += 1
            if pass_.again:  # what this very pass brought in must not be retired at its end
                held = self.writer.holders([draft.fingerprint for draft in placement.new])
                pass_.new.update(
                    holder.event_id
                    for holder in (holder for group in held.values() for holder in group)
                    if holder.session_id == session.id and holder.event_id is not None
                )
                pass_.reading.seen |= pass_.new

    def _last_turns(self, session: SessionHandle) -> list[str]:
        try:
            return self.writer.last_turns(session, BEFORE)
        except StoreDamaged:  # old text that is lost must not keep new text out
            return []

    def _note_mentions(
        self, pass_: _Pass, session: SessionHandle, drafts: list[EventDraft]
    ) -> None:
        """Keep the paths in a session's first prompt: they may identify its project.

        They are stored as a fact, so that the order of reading cannot change the result.
        """
        prompt = next((d for d in drafts if d.kind == "user_prompt" and d.index_text), None)
        if prompt is None or session.id in pass_.prompted:
            return
        pass_.prompted.add(session.id)
        paths = self.finder.mentions(pass_.cwds.get(session.external_id), prompt.index_text or "")
        fact = Fact("mentions", "\n".join(paths), prompt.pos)
        self.writer.add_facts(session, pass_.reading.source_id, [fact])

    def settle(self) -> set[int]:
        """Update what is derived from the rows; returns the sessions that changed."""
        touched = set(self.touched)
        self.writer.settle(touched)
        return touched

    def begin_transaction(self) -> None:
        """Start counting again: what was read so far is stored, or was rolled back."""
        self.touched.clear()
        self.new_sessions.clear()  # only a session's first transaction calls it new
        self.pending_bytes = 0

    def _save_cursor(self, pass_: _Pass, *, finished: bool) -> None:
        file, end = pass_.file, pass_.end
        head, tail = pass_.hashes or file_hashes(pass_.adapter, file, end)
        stamp = stamp_of(file)
        if not finished:  # an unfinished file must look changed to the next sweep
            stamp = (stamp[0], stamp[1], end, 0, 0)
        self.writer.save_cursor(
            pass_.name,
            Cursor(
                pass_.reading.source_id,
                stamp,
                head,
                tail,
                end,
                self.drafter.state(pass_.state),
                pass_.adapter.parser_version,
            ),
        )


class _Pass(msgspec.Struct):
    """What is remembered while one file is read."""

    adapter: Adapter
    file: SourceFile
    reading: Reading
    state: dict[str, object]
    end: int
    again: bool = False
    """A whole re-read of a source that was read before."""
    reparse: bool = False
    """Because its parser is a newer one."""
    replaced: bool = False
    """Because what was read of it before is not in it any more."""
    shrunk: bool = False
    hashes: tuple[bytes, bytes] | None = None
    """Of the file up to `end`, where they were taken when it was read."""
    aside: int = 0
    """The source that holds what was read before from a replaced file."""
    records: int = 0
    damaged: int = 0
    """Lines that are not records."""
    too_long: int = 0
    """Lines over the cap."""
    cut: str = ""  # why its rest is yet to come: it is packed, and its end is missing
    news: list[EventDraft] = []
    """The first of what it said that its own sessions did not hold; more than one is no cut."""
    new: set[int] = set()
    """Events that were added, where it is read again."""
    handles: dict[str, SessionHandle] = {}
    sessions: set[int] = set()
    own: set[int] = set()
    """Sessions that it is the log of, rather than a stand-in for their log."""
    turns: dict[int, list[str]] = {}
    cwds: dict[str, str] = {}
    prompted: set[int] = set()
    """Sessions whose first prompt of this pass was seen."""
    unwanted: set[str] = set()
    """Sessions that the user or their repository wants left out."""
    forgotten: bool = False

    @property
    def name(self) -> str:
        """The file's path as the store knows it."""
        return name_to_text(self.file.path)


def _ready(prepared: Prepared) -> Iterator[ReadBlock]:
    for block in prepared:
        yield ReadBlock(block.figures, [(p.heading, p) for p in block.parts], block.hashes)
