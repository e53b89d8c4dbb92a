"""Sessions become traces: chosen, read, asked or distilled, normalised, written, one by one.

Whatever goes wrong with one session concerns that session alone; it is tried again next time. The
store is used on the caller's thread only; model calls run beside each other, at most eight. What
the budget puts off is no failure, and leaves its place in the pass to the next session.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from session_memory.errors import BudgetSpent, SessionMemoryError, StoreError
from session_memory.memory.layout import ensure_layout, memory_root
from session_memory.memory.log import MemoryLog
from session_memory.memory.prompt import MAX_PROMPT_BYTES, SCHEMA, shown_of, stage_one
from session_memory.memory.rollout import UnserialisableError
from session_memory.memory.rule_trace import Distilled, Worthless, distil
from session_memory.memory.selection import updated_at
from session_memory.memory.session_material import (
    Candidate,
    Conversation,
    Wanted,
    choose,
    load_conversation,
    load_source,
    redact_with,
    where,
)
from session_memory.memory.trace_text import (
    final_summary,
    final_trace,
    is_wordy,
    missing_parts,
    title_of,
)
from session_memory.memory.traces import TraceDraft, save_trace
from session_memory.model.parse import parse_answer
from session_memory.model.port import Answer, Model, Request
from session_memory.redact import Redactor
from session_memory.store.memories import Passed
from session_memory.store.port import Store

CONCURRENCY = 8
EVERYTHING = 1_000_000
"""More sessions than there are."""


class Around(msgspec.Struct, frozen=True):
    """What a pass needs from outside."""

    data: Path
    log: MemoryLog
    make_redactor: Callable[[bytes], Redactor]
    """Makes the redactor of a store from its key."""
    open_model: Callable[[Store], Model | None]
    """None where no model is turned on; asked at most once in a pass. The store has the ledger."""
    alive: Callable[[], None] = lambda: None
    """Called between sessions: a long pass says that it still runs."""


class Dropped(msgspec.Struct, frozen=True):
    """A session that gave nothing this time, and why."""

    session: str
    path: str
    reason: str
    final: bool = False
    """It is worth nothing: not tried again until it grows."""
    deferred: bool = False
    """The budget does not allow it now; nothing was asked and nothing failed."""


class Shortened(msgspec.Struct, frozen=True):
    """A session of which the model saw only the beginning and the end."""

    session: str
    shown_bytes: int
    of_bytes: int


class Report(msgspec.Struct):
    """What a pass did."""

    candidates: int = 0
    written: list[str] = msgspec.field(default_factory=list[str])
    """Paths of the traces."""
    dropped: list[Dropped] = msgspec.field(default_factory=list[Dropped])
    shortened: list[Shortened] = msgspec.field(default_factory=list[Shortened])
    touched: set[str] = msgspec.field(default_factory=set[str])
    """Places whose traces changed: those to consolidate."""
    model: str | None = None


def pipeline(open_store: Callable[[], Store], around: Around, wanted: Wanted) -> Report:
    """One pass; without a usable store nothing is done and nothing is raised."""
    try:
        store = open_store()
    except StoreError as error:
        around.log.warn("store_unavailable", operation="open", stage="extract", reason=error.code)
        return Report()
    try:
        return extract(store, around, wanted)
    finally:
        store.close()


def extract(store: Store, around: Around, wanted: Wanted) -> Report:
    """Read the sessions that are due into traces."""
    try:
        due = deque(choose(store, msgspec.structs.replace(wanted, limit=EVERYTHING)))
    except StoreError as error:
        around.log.warn("store_failed", operation="choose", stage="extract", reason=error.code)
        return Report()
    places = len(due) if wanted.session is not None else min(wanted.limit, len(due))
    around.log.note("candidates", count=places)
    report = Report()
    if not places:
        return report
    model = around.open_model(store)
    report.model = None if model is None else f"{model.provider} {model.name}".strip()
    one_pass = _Pass(store, around, model, report)
    while due and places:
        batch = [due.popleft() for _ in range(min(CONCURRENCY, places, len(due)))]
        report.candidates += len(batch)
        put_off = one_pass.take(batch)
        if put_off == len(batch):
            break  # the budget is spent: the others need not even be loaded
        places -= len(batch) - put_off
        around.alive()
    failed = sum(not one.final and not one.deferred for one in report.dropped)
    around.log.note(
        "indexed",
        count=len(report.written),
        roots=len(report.touched),
        dropped=failed,
        deferred=sum(one.deferred for one in report.dropped),
    )
    return report


class _Loaded(msgspec.Struct, frozen=True):
    """A candidate whose conversation is read."""

    candidate: Candidate
    conversation: Conversation

    @property
    def size(self) -> int:
        """Bytes that a prompt would hold of it, if nothing else bounded it."""
        return min(MAX_PROMPT_BYTES, len(self.conversation.text.encode("utf-8", "surrogatepass")))


class _Pass:
    """The parts of one pass, which share its store, model and report."""

    def __init__(self, store: Store, around: Around, model: Model | None, report: Report) -> None:
        self._store = store
        self._around = around
        self._model = model
        self._report = report
        self._redactor = around.make_redactor(store.tag_key)
        self._redact = redact_with(self._redactor)

    def take(self, chosen: list[Candidate]) -> int:
        """Read some sessions; returns how many the budget put off.

        Questions to a model are asked beside each other.
        """
        before = sum(one.deferred for one in self._report.dropped)
        loaded: list[_Loaded] = []
        for candidate in chosen:
            if not candidate.root:
                self._pass_over(candidate, Worthless("nothing says in which directory it ran"))
                continue
            if not self._has_layout(candidate):
                continue
            # Without its raw text a session can only be distilled.
            if self._model is None or candidate.session.state == "raw_evicted":
                self._distil(candidate)
            else:
                loaded += self._loaded(candidate)
        if loaded and self._model is not None:
            self._ask(self._model, loaded)
        return sum(one.deferred for one in self._report.dropped) - before

    def _ask(self, model: Model, loaded: Sequence[_Loaded]) -> None:
        """Ask about some sessions, each cut to what the model and the budget allow."""
        try:
            limit = model.input_limit(stage_one("", "", _unheard), [one.size for one in loaded])
        except SessionMemoryError as error:
            for one in loaded:
                self._answered(one.candidate, error)
            return
        shown = [shown_of(one.conversation.text, limit) for one in loaded]
        asked = [
            self._request(one.candidate, cut.text) for one, cut in zip(loaded, shown, strict=True)
        ]
        with ThreadPoolExecutor(CONCURRENCY, "memory") as pool:
            answers = [pool.submit(_ask, model, request) for request in asked]
            for one, cut, answer in zip(loaded, shown, answers, strict=True):
                said = answer.result()
                if cut.truncated and not isinstance(said, BudgetSpent):
                    self._tell_cut(one, cut.text)
                self._answered(one.candidate, said)

    def _has_layout(self, candidate: Candidate) -> bool:
        try:
            ensure_layout(memory_root(self._around.data, candidate.root))
        except (OSError, SessionMemoryError) as error:
            self._around.log.warn(
                "layout_failed",
                cwd=candidate.root,
                operation="layout",
                stage="extract",
                reason=_reason(error),
            )
            self._leave_out(candidate, f"layout: {_reason(error)}")
            return False
        if candidate.damaged:
            self._around.log.warn(
                "damaged_lines", rollout_path=candidate.path, count=candidate.damaged
            )
        return True

    def _loaded(self, candidate: Candidate) -> list[_Loaded]:
        try:
            conversation = load_conversation(self._store, candidate, self._redactor)
        except UnserialisableError as error:
            self._drop(candidate, "serialise", error)
            return []
        except (OSError, SessionMemoryError) as error:
            self._drop(candidate, "load", error)
            return []
        return [_Loaded(candidate, conversation)]

    def _request(self, candidate: Candidate, shown: str) -> Request:
        return stage_one(candidate.path, shown, lambda text: self._warn_prompt(candidate, text))

    def _tell_cut(self, one: _Loaded, shown: str) -> None:
        size, whole = len(shown.encode("utf-8", "surrogatepass")), one.conversation.size
        told = f"the conversation was cut to {size} of {whole} bytes; {whole - size} were left out"
        self._warn_prompt(one.candidate, told)
        self._report.shortened.append(Shortened(_name(one.candidate), size, whole))

    def _warn_prompt(self, candidate: Candidate, text: str) -> None:
        self._around.log.warn("prompt", rollout_path=candidate.path, reason=text)

    def _answered(self, candidate: Candidate, answer: Answer | SessionMemoryError) -> None:
        if isinstance(answer, BudgetSpent):
            self._put_off(candidate, answer.message)
            return
        if isinstance(answer, SessionMemoryError):
            self._drop(candidate, "model", answer)
            return
        try:
            found = parse_answer(answer.text, SCHEMA)
            texts = self._final(found["traceMemory"], found["summary"])
        except SessionMemoryError as error:
            self._drop(candidate, "answer", error)
            return
        missing = missing_parts(texts[0])
        if missing:
            path, parts = candidate.path, ", ".join(dict.fromkeys(missing))
            self._around.log.warn("loose_structure", rollout_path=path, reason=f"without {parts}")
        if is_wordy(texts[1]):
            words = len(texts[1].split())
            self._around.log.warn("wordy_summary", rollout_path=candidate.path, count=words)
        self._save(candidate, texts)

    def _distil(self, candidate: Candidate) -> None:
        try:
            source = load_source(self._store, candidate)
        except (OSError, SessionMemoryError) as error:
            self._drop(candidate, "load", error)
            return
        found = distil(source, where(candidate.session, candidate.root))
        if isinstance(found, Worthless):
            self._pass_over(candidate, found)
        else:
            self._save(candidate, self._of(found))

    def _of(self, found: Distilled) -> tuple[str, str]:
        return self._final(found.trace, found.summary)

    def _final(self, trace: str, summary: str) -> tuple[str, str]:
        return final_trace(trace, self._redact), final_summary(summary, self._redact)

    def _save(self, candidate: Candidate, texts: tuple[str, str]) -> None:
        session = candidate.session
        title = self._redact(session.title or title_of(texts[0]))
        draft = TraceDraft(session, candidate.root, candidate.path, title)

        def warn(text: str, path: str) -> None:
            self._around.log.warn("older_trace", path=path, reason=text)

        try:
            path = save_trace(self._store.memories, self._around.data, draft, texts, warn)
        except (OSError, SessionMemoryError) as error:
            self._drop(candidate, "save", error)
            return
        self._report.written.append(str(path))
        self._report.touched.add(candidate.root)
        self._around.log.note(
            "trace_persisted", rollout_path=candidate.path, cwd=candidate.root, path=str(path)
        )

    def _pass_over(self, candidate: Candidate, found: Worthless) -> None:
        session = candidate.session
        try:
            self._store.memories.pass_over(Passed(session.id, found.reason, updated_at(session)))
        except SessionMemoryError as error:
            self._drop(candidate, "save", error)
            return
        left = Dropped(_name(candidate), candidate.path, found.reason, final=True)
        self._report.dropped.append(left)

    def _put_off(self, candidate: Candidate, reason: str) -> None:
        """Leave a session for a run that has the budget for it."""
        left = Dropped(_name(candidate), candidate.path, reason, deferred=True)
        self._report.dropped.append(left)
        self._around.log.note("deferred", rollout_path=candidate.path, reason=reason)

    def _drop(
        self, candidate: Candidate, operation: str, error: OSError | SessionMemoryError
    ) -> None:
        """Leave a session out this time; the log says which, why, and what was being done."""
        reason = f"{operation}: {_reason(error)}"
        self._leave_out(candidate, reason)
        self._around.log.warn(
            "dropped",
            rollout_path=candidate.path,
            operation=operation,
            stage="extract",
            reason=reason,
        )

    def _leave_out(self, candidate: Candidate, reason: str) -> None:
        self._report.dropped.append(Dropped(_name(candidate), candidate.path, reason))


def _unheard(_text: str) -> None:
    """A warning about a prompt that nobody is sent."""


def _name(candidate: Candidate) -> str:
    return f"{candidate.session.flavor}:{candidate.session.external_id}"


def _ask(model: Model, request: Request) -> Answer | SessionMemoryError:
    """One call, on a thread of its own; its failure is a value, so that it concerns nobody else."""
    try:
        return model.ask(request)
    except SessionMemoryError as error:
        return error


def _reason(error: OSError | SessionMemoryError) -> str:
    if isinstance(error, SessionMemoryError):
        return error.message
    return error.strerror or type(error).__name__
