"""Makes traces of sessions: select, load, ask a model or distil, put into final form, save.

A failure affects only that session, which is tried again next time. The store is used on the
caller's thread only; up to eight model calls run in parallel. A session that the budget defers is
not a failure, and does not count against the limit of the run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from session_memory.clock import iso
from session_memory.core.schema import Session
from session_memory.errors import BudgetSpent, NotFound, SessionMemoryError, StoreError
from session_memory.memory.context import MemoryContext, reason_of, redact_with
from session_memory.memory.layout import ensure_layout, memory_root
from session_memory.memory.orders import is_plain_name
from session_memory.memory.prompt import MAX_PROMPT_BYTES, SCHEMA, cut_conversation, trace_request
from session_memory.memory.rollout import UnserialisableError, array_of, filtered_items, lines_of
from session_memory.memory.rule_trace import NoTrace, distil
from session_memory.memory.selection import (
    Candidate,
    ExtractRequest,
    select_candidates,
    updated_at,
)
from session_memory.memory.support_sources import evidence_of_session
from session_memory.memory.tasks import TraceSource
from session_memory.memory.trace_support import check_summary, check_trace
from session_memory.memory.trace_text import (
    final_summary,
    final_trace,
    is_wordy,
    missing_parts,
    title_of,
)
from session_memory.memory.traces import TraceDraft, save_trace
from session_memory.model import retry
from session_memory.model.parse import parse_answer
from session_memory.model.port import Answer, Model, Request
from session_memory.redact import Redactor, render
from session_memory.store.memories import Passed
from session_memory.store.port import ObservationQuery, SessionReader, Store

CONCURRENCY = 8
ALL_SESSIONS = 1_000_000
"""A limit that no store reaches."""


class Dropped(msgspec.Struct, frozen=True):
    """A session that gave no trace this time, and why."""

    session: str
    path: str
    reason: str
    final: bool = False
    """It has nothing worth keeping: not tried again until it grows."""
    deferred: bool = False
    """The budget does not allow it now; nothing was asked and nothing failed."""


class Shortened(msgspec.Struct, frozen=True):
    """A session of which the model saw only the beginning and the end."""

    session: str
    shown_bytes: int
    of_bytes: int


class ExtractReport(msgspec.Struct):
    """What a run did."""

    candidates: int = 0
    written: list[str] = msgspec.field(default_factory=list[str])
    """Paths of the traces."""
    dropped: list[Dropped] = msgspec.field(default_factory=list[Dropped])
    shortened: list[Shortened] = msgspec.field(default_factory=list[Shortened])
    unsupported: int = 0
    """Statements of a model that were left out, because nothing in their session supports them."""
    touched: set[str] = msgspec.field(default_factory=set[str])
    """Project roots whose traces changed and are to be consolidated."""
    model: str | None = None


def extract_from(
    open_store: Callable[[], Store], context: MemoryContext, request: ExtractRequest
) -> ExtractReport:
    """One run on a store that is opened for it; without a usable store it does nothing."""
    try:
        store = open_store()
    except StoreError as error:
        context.log.warn("store_unavailable", operation="open", stage="extract", reason=error.code)
        return ExtractReport()
    try:
        return extract(store, context, request)
    finally:
        store.close()


def extract(store: Store, context: MemoryContext, request: ExtractRequest) -> ExtractReport:
    """Make traces of the sessions that are due."""
    try:
        everything = msgspec.structs.replace(request, limit=ALL_SESSIONS)
        due = deque(select_candidates(store, everything))
    except StoreError as error:
        context.log.warn("store_failed", operation="choose", stage="extract", reason=error.code)
        return ExtractReport()
    remaining = len(due) if request.session is not None else min(request.limit, len(due))
    context.log.note("candidates", count=remaining)
    report = ExtractReport()
    if not remaining:
        return report
    model = context.open_model(store)
    report.model = None if model is None else f"{model.provider} {model.name}".strip()
    run = _ExtractRun(store, context, model, report)
    while due and remaining:
        batch = [due.popleft() for _ in range(min(CONCURRENCY, remaining, len(due)))]
        report.candidates += len(batch)
        deferred = run.process(batch)
        if deferred == len(batch):
            break  # the budget is spent: the others are not even loaded
        remaining -= len(batch) - deferred
        context.heartbeat()
    failed = sum(not dropped.final and not dropped.deferred for dropped in report.dropped)
    context.log.note(
        "indexed",
        count=len(report.written),
        roots=len(report.touched),
        dropped=failed,
        deferred=sum(dropped.deferred for dropped in report.dropped),
    )
    return report


class Conversation(msgspec.Struct, frozen=True):
    """What was said in a session, redacted but not yet cut to the size of a prompt."""

    text: str
    """Without its middle if the whole is longer than any prompt may be."""
    size: int
    """Bytes of the whole conversation."""


class _Loaded(msgspec.Struct, frozen=True):
    """A candidate with its conversation."""

    candidate: Candidate
    conversation: Conversation

    @property
    def size(self) -> int:
        """Bytes of it in a prompt, if nothing but the fixed limit bounded it."""
        return min(MAX_PROMPT_BYTES, len(self.conversation.text.encode("utf-8", "surrogatepass")))


class _TraceTexts(msgspec.Struct, frozen=True):
    trace: str
    summary: str


class _ExtractRun:
    """The steps of one run, which share its store, model and report."""

    def __init__(
        self, store: Store, context: MemoryContext, model: Model | None, report: ExtractReport
    ) -> None:
        self._store = store
        self._context = context
        self._log = context.log
        self._model = model
        self._report = report
        self._redactor = context.make_redactor(store.tag_key)
        self._redact = redact_with(self._redactor)

    def process(self, candidates: list[Candidate]) -> int:
        """Make traces of some sessions, with model calls in parallel; returns how many deferred."""
        before = sum(dropped.deferred for dropped in self._report.dropped)
        loaded: list[_Loaded] = []
        for candidate in candidates:
            if not candidate.root:
                self._pass_over(candidate, NoTrace("nothing says in which directory it ran"))
                continue
            if not self._create_folders(candidate):
                continue
            # Without its raw text a session can only be distilled.
            if self._model is None or candidate.session.state == "raw_evicted":
                self._distil(candidate)
            else:
                loaded += self._load(candidate)
        if loaded and self._model is not None:
            self._ask_all(self._model, loaded)
        return sum(dropped.deferred for dropped in self._report.dropped) - before

    def _ask_all(self, model: Model, loaded: Sequence[_Loaded]) -> None:
        """Ask about some sessions, each cut to what the model and the budget allow."""
        try:
            bare = trace_request("", "", _ignore)
            limit = model.input_limit(bare, [session.size for session in loaded])
        except SessionMemoryError as error:
            for session in loaded:
                self._finish(session.candidate, error)
            return
        cuts = [cut_conversation(session.conversation.text, limit) for session in loaded]
        with ThreadPoolExecutor(CONCURRENCY, "memory") as pool:
            answers = [
                pool.submit(self._ask, model, self._request(session.candidate, cut.text))
                for session, cut in zip(loaded, cuts, strict=True)
            ]
            for session, cut, future in zip(loaded, cuts, answers, strict=True):
                answer = future.result()
                if cut.truncated and not isinstance(answer, BudgetSpent):
                    self._report_cut(session, cut.text)
                self._finish(session.candidate, answer)

    def _ask(self, model: Model, request: Request) -> Answer | SessionMemoryError:
        """One question on its own thread; a failure is returned: it affects only this session."""
        try:
            return retry.ask(model, request, self._context.wait)
        except SessionMemoryError as error:
            return error

    def _create_folders(self, candidate: Candidate) -> bool:
        try:
            ensure_layout(memory_root(self._context.data, candidate.root))
        except (OSError, SessionMemoryError) as error:
            self._log.warn(
                "layout_failed",
                cwd=candidate.root,
                operation="layout",
                stage="extract",
                reason=reason_of(error),
            )
            self._report_dropped(candidate, f"layout: {reason_of(error)}")
            return False
        if candidate.damaged:
            self._log.warn("damaged_lines", rollout_path=candidate.path, count=candidate.damaged)
        return True

    def _load(self, candidate: Candidate) -> list[_Loaded]:
        try:
            conversation = load_conversation(self._store, candidate, self._redactor)
        except UnserialisableError as error:
            self._drop(candidate, "serialise", error)
            return []
        except (OSError, SessionMemoryError) as error:
            self._drop(candidate, "load", error)
            return []
        return [_Loaded(candidate, conversation)]

    def _request(self, candidate: Candidate, conversation: str) -> Request:
        return trace_request(
            candidate.path, conversation, lambda text: self._warn_prompt(candidate, text)
        )

    def _report_cut(self, session: _Loaded, shown: str) -> None:
        size, whole = len(shown.encode("utf-8", "surrogatepass")), session.conversation.size
        text = f"the conversation was cut to {size} of {whole} bytes; {whole - size} were left out"
        self._warn_prompt(session.candidate, text)
        self._report.shortened.append(Shortened(_name(session.candidate), size, whole))

    def _warn_prompt(self, candidate: Candidate, text: str) -> None:
        self._log.warn("prompt", rollout_path=candidate.path, reason=text)

    def _finish(self, candidate: Candidate, answer: Answer | SessionMemoryError) -> None:
        """Save the trace in an answer, or report why there is none."""
        if isinstance(answer, BudgetSpent):
            self._report_dropped(candidate, answer.message, deferred=True)
            self._log.note("deferred", rollout_path=candidate.path, reason=answer.message)
            return
        if isinstance(answer, SessionMemoryError):
            self._drop(candidate, "model", answer)
            return
        try:
            payload = parse_answer(answer.text, SCHEMA)
            texts = self._final_texts(payload["traceMemory"], payload["summary"])
            texts = self._supported(candidate, texts)
        except (OSError, SessionMemoryError) as error:
            self._drop(candidate, "answer", error)
            return
        missing = missing_parts(texts.trace)
        if missing:
            path, parts = candidate.path, ", ".join(dict.fromkeys(missing))
            self._log.warn("loose_structure", rollout_path=path, reason=f"without {parts}")
        if is_wordy(texts.summary):
            words = len(texts.summary.split())
            self._log.warn("wordy_summary", rollout_path=candidate.path, count=words)
        self._save(candidate, texts)

    def _supported(self, candidate: Candidate, texts: _TraceTexts) -> _TraceTexts:
        """What a model wrote, without the statements that its session does not support."""
        evidence = evidence_of_session(self._store, candidate.session.id)
        trace, summary = check_trace(texts.trace, evidence), check_summary(texts.summary, evidence)
        dropped = (*trace.dropped, *summary.dropped)
        if dropped:
            self._report.unsupported += len(dropped)
            self._log.warn("unsupported", rollout_path=candidate.path, count=len(dropped))
        return _TraceTexts(trace.text, summary.text or title_of(trace.text))

    def _distil(self, candidate: Candidate) -> None:
        try:
            source = load_source(self._store, candidate)
        except (OSError, SessionMemoryError) as error:
            self._drop(candidate, "load", error)
            return
        distilled = distil(source, where_and_when(candidate.session, candidate.root))
        if isinstance(distilled, NoTrace):
            self._pass_over(candidate, distilled)
        else:
            self._save(candidate, self._final_texts(distilled.trace, distilled.summary))

    def _final_texts(self, trace: str, summary: str) -> _TraceTexts:
        return _TraceTexts(final_trace(trace, self._redact), final_summary(summary, self._redact))

    def _save(self, candidate: Candidate, texts: _TraceTexts) -> None:
        session = candidate.session
        draft = TraceDraft(
            session=session,
            root=candidate.root,
            rollout=candidate.path,
            title=self._redact(session.title or title_of(texts.trace)),
            trace=texts.trace,
            summary=texts.summary,
        )

        def warn(text: str, path: str) -> None:
            self._log.warn("older_trace", path=path, reason=text)

        try:
            path = save_trace(self._store.memories, self._context.data, draft, warn)
        except (OSError, SessionMemoryError) as error:
            self._drop(candidate, "save", error)
            return
        self._report.written.append(str(path))
        self._report.touched.add(candidate.root)
        self._log.note(
            "trace_persisted", rollout_path=candidate.path, cwd=candidate.root, path=str(path)
        )

    def _pass_over(self, candidate: Candidate, no_trace: NoTrace) -> None:
        """Remember that a session has nothing worth keeping, until it grows."""
        session = candidate.session
        try:
            self._store.memories.pass_over(Passed(session.id, no_trace.reason, updated_at(session)))
        except SessionMemoryError as error:
            self._drop(candidate, "save", error)
            return
        self._report_dropped(candidate, no_trace.reason, final=True)

    def _drop(
        self, candidate: Candidate, operation: str, error: OSError | SessionMemoryError
    ) -> None:
        """Leave a session out this time; the log says which one, why, and in which operation."""
        reason = f"{operation}: {reason_of(error)}"
        self._report_dropped(candidate, reason)
        self._log.warn(
            "dropped",
            rollout_path=candidate.path,
            operation=operation,
            stage="extract",
            reason=reason,
        )

    def _report_dropped(
        self, candidate: Candidate, reason: str, *, final: bool = False, deferred: bool = False
    ) -> None:
        dropped = Dropped(_name(candidate), candidate.path, reason, final, deferred)
        self._report.dropped.append(dropped)


def _ignore(_text: str) -> None:
    """A warning about a request that is only measured, not sent."""


def _name(candidate: Candidate) -> str:
    return f"{candidate.session.flavor}:{candidate.session.external_id}"


def load_conversation(
    store: SessionReader, candidate: Candidate, redactor: Redactor
) -> Conversation:
    """The conversation of a session; it is redacted before any of it is cut."""
    items = filtered_items(lines_of(store.events(candidate.session.id, texts=True)))
    array = array_of(items, MAX_PROMPT_BYTES)
    text = render(redactor.redact_json(array.data).decode("utf-8", "replace"))
    return Conversation(text, array.size)


def load_source(store: SessionReader, candidate: Candidate) -> TraceSource:
    """What a trace without a model is made of; events come without their texts."""
    session = candidate.session
    digest = store.digest(session.id)
    if digest is None:
        raise NotFound("the session is not distilled yet", hint="run `session-memory sweep`")
    return TraceSource(
        digest,
        tuple(store.observations(ObservationQuery(session=session.id))),
        tuple(store.events(session.id)),
        candidate.roots,
        session.title,
    )


def where_and_when(session: Session, root: str) -> str:
    """One line on where and when a session ran."""
    parts = [f"{session.flavor} session {session.external_id} in {root}"]
    if session.branch and is_plain_name(session.branch):
        parts.append(f"on branch {session.branch}")
    when = iso(session.ended_at)
    if when is not None:
        parts.append(f"ended {when[:10]}")
    return ", ".join(" ".join(part.split()) for part in parts)
