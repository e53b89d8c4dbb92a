"""Sessions become traces: chosen, read, asked or distilled, normalised, written, one by one.

Whatever goes wrong with one session concerns that session alone; it is tried again next time. The
store is used on the caller's thread only; model calls run beside each other, at most eight.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from session_memory.errors import SessionMemoryError, StoreError
from session_memory.memory.distil import Distilled, Worthless, distil
from session_memory.memory.layout import ensure_layout, memory_root
from session_memory.memory.loading import (
    Candidate,
    Wanted,
    choose,
    load_request,
    load_source,
    redact_with,
    where,
)
from session_memory.memory.log import MemoryLog
from session_memory.memory.prompting import SCHEMA
from session_memory.memory.select import updated_at
from session_memory.memory.trace_text import final_summary, final_trace, is_wordy, title_of
from session_memory.memory.traces import TraceDraft, save_trace
from session_memory.model.parse import parse_answer
from session_memory.model.port import Answer, Model, Request
from session_memory.redact import Redactor
from session_memory.store.memories import Passed
from session_memory.store.port import Store

CONCURRENCY = 8


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


class Report(msgspec.Struct):
    """What a pass did."""

    candidates: int = 0
    written: list[str] = msgspec.field(default_factory=list[str])
    """Paths of the traces."""
    dropped: list[Dropped] = msgspec.field(default_factory=list[Dropped])
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
        chosen = choose(store, wanted)
    except StoreError as error:
        around.log.warn("store_failed", operation="choose", stage="extract", reason=error.code)
        return Report()
    report = Report(candidates=len(chosen))
    if not chosen:
        return report
    around.log.note("candidates", count=len(chosen))
    model = around.open_model(store)
    report.model = None if model is None else f"{model.provider} {model.name}".strip()
    one_pass = _Pass(store, around, model, report)
    for start in range(0, len(chosen), CONCURRENCY):
        one_pass.take(chosen[start : start + CONCURRENCY])
        around.alive()
    around.log.note("indexed", count=len(report.written), roots=len(report.touched))
    return report


class _Asked(msgspec.Struct, frozen=True):
    """A candidate whose question is ready."""

    candidate: Candidate
    request: Request


class _Pass:
    """The parts of one pass, which share its store, model and report."""

    def __init__(self, store: Store, around: Around, model: Model | None, report: Report) -> None:
        self._store = store
        self._around = around
        self._model = model
        self._report = report
        self._redactor = around.make_redactor(store.tag_key)
        self._redact = redact_with(self._redactor)

    def take(self, chosen: list[Candidate]) -> None:
        """Read some sessions; questions to a model are asked beside each other."""
        asked: list[_Asked] = []
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
                asked += self._prepared(candidate)
        if asked and self._model is not None:
            with ThreadPoolExecutor(CONCURRENCY, "memory") as pool:
                answers = [pool.submit(_ask, self._model, one.request) for one in asked]
                for one, answer in zip(asked, answers, strict=True):
                    self._answered(one.candidate, answer.result())

    def _has_layout(self, candidate: Candidate) -> bool:
        try:
            ensure_layout(memory_root(self._around.data, candidate.root))
        except (OSError, SessionMemoryError) as error:
            self._around.log.warn("layout_failed", cwd=candidate.root, reason=_reason(error))
            self._drop(candidate, f"layout: {_reason(error)}", told=True)
            return False
        if candidate.damaged:
            self._around.log.warn(
                "damaged_lines", rollout_path=candidate.path, count=candidate.damaged
            )
        return True

    def _prepared(self, candidate: Candidate) -> list[_Asked]:
        def warn(text: str) -> None:
            self._around.log.warn("prompt", rollout_path=candidate.path, reason=text)

        try:
            request = load_request(self._store, candidate, self._redactor, warn)
        except (OSError, SessionMemoryError) as error:
            self._drop(candidate, f"load: {_reason(error)}")
            return []
        return [_Asked(candidate, request)]

    def _answered(self, candidate: Candidate, answer: Answer | SessionMemoryError) -> None:
        if isinstance(answer, SessionMemoryError):
            self._drop(candidate, f"model: {answer.message}")
            return
        try:
            found = parse_answer(answer.text, SCHEMA)
            texts = self._final(found["traceMemory"], found["summary"])
        except SessionMemoryError as error:
            self._drop(candidate, f"answer: {error.message}")
            return
        if is_wordy(texts[1]):
            words = len(texts[1].split())
            self._around.log.warn("wordy_summary", rollout_path=candidate.path, count=words)
        self._save(candidate, texts)

    def _distil(self, candidate: Candidate) -> None:
        try:
            source = load_source(self._store, candidate)
        except (OSError, SessionMemoryError) as error:
            self._drop(candidate, f"load: {_reason(error)}")
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
            self._drop(candidate, f"save: {_reason(error)}")
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
            self._drop(candidate, f"save: {_reason(error)}")
            return
        name = f"{session.flavor}:{session.external_id}"
        self._report.dropped.append(Dropped(name, candidate.path, found.reason, final=True))

    def _drop(self, candidate: Candidate, reason: str, *, told: bool = False) -> None:
        """Leave a session out this time; the log says which and why."""
        session = candidate.session
        name = f"{session.flavor}:{session.external_id}"
        self._report.dropped.append(Dropped(name, candidate.path, reason))
        if not told:
            self._around.log.warn("dropped", rollout_path=candidate.path, reason=reason)


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
