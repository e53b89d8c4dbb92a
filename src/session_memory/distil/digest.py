"""Builds a session's digest: what is kept of it when its raw text has gone."""

from __future__ import annotations

import msgspec

from session_memory.core.digest import (
    DIGEST_VERSION,
    MAX_CORRECTIONS,
    MAX_DECISIONS,
    MAX_GROUNDS,
    MAX_ITEMS,
    distinct,
    fit_errors,
    fit_files,
    seconds,
    summed,
)
from session_memory.core.hashing import blake2b, text_key
from session_memory.core.schema import Digest, Session, SessionEvent
from session_memory.core.text.masks import excerpt
from session_memory.core.text.own_text import without_own_text
from session_memory.distil.cures import CureLog
from session_memory.distil.main_request import MainRequest
from session_memory.distil.notices import find_notices
from session_memory.distil.outcome import Evidence, Mark, judge
from session_memory.distil.plans import PlanLog, decisions_in, todos_in
from session_memory.distil.prompts import (
    is_internal_prompt,
    is_request,
    objective_of,
    read_prompt,
    stops_work,
)
from session_memory.distil.runs import RunLog
from session_memory.distil.session_logs import SessionLogs
from session_memory.distil.substance import typed

_CORRECTION_CHARS = 200
_QUEUED_CHARS = 2400  # enough for the objective; a longer paste says no more
_MAX_QUEUED = 1000
_WORDS_CHARS = 600
_FINGERPRINT_MASK = (1 << 64) - 1
_FINGERPRINT = blake2b(digest_size=16)  # copied for each event: making one takes twice as long

# Where an objective comes from, best first.
_OWN, _INHERITED, _DELEGATED, _TITLE, _WEAK = range(5)


class DigestBuilder:
    """Takes events one by one and keeps excerpts only, whatever their number and length.

    `logs` has read each event before this does.
    """

    def __init__(self, logs: SessionLogs, *, continued: bool = False) -> None:
        self.logs = logs
        self.runs = RunLog()
        self.calls = logs.calls
        self.cures = CureLog()
        self.rules = logs.rules
        self.plans = PlanLog()
        self.fingerprint = _FINGERPRINT.digest()
        self.events = self.turns = self.requests = 0
        self.interruptions = self.compactions = self.internal = 0
        self.first_at: int | None = None
        self.last_at: int | None = None
        self.first_work = 0 if continued else -1
        self.active = self.interrupted = self.failed = -1  # positions of the last of each
        self.api_error = ""
        self.last_words = self.user_words = ""
        self.last_prompt = self.last_answer = -1
        self.objectives: dict[int, tuple[int, str]] = {}
        self.main_request = MainRequest()
        self.stopped = self.asks = False
        self.complaint: Mark | None = None
        self.approval: Mark | None = None
        self.rejection: Mark | None = None
        self.corrections: list[tuple[int, str]] = []
        self.decisions: dict[str, None] = {}
        self.todos: dict[str, None] = {}
        self.prompt_keys: set[int] = set()
        self.queued: dict[int, tuple[int, str]] = {}

    def add(self, event: SessionEvent) -> None:
        """Take in the next event."""
        self.events += 1
        number = (event.fingerprint & _FINGERPRINT_MASK).to_bytes(8, "little")
        so_far = _FINGERPRINT.copy()
        so_far.update(self.fingerprint + number)
        self.fingerprint = so_far.digest()
        kind = event.kind
        if event.inherited:  # counted in the original session; here it is only context
            if kind == "user_prompt":
                self._objective(_INHERITED, event.text or "", self.events)
            return
        at = event.at
        if at is not None:
            if self.first_at is None or at < self.first_at:
                self.first_at = at
            if self.last_at is None or at > self.last_at:
                self.last_at = at
        if kind == "tool_result":
            self._result(event)
        elif kind == "tool_call":
            self._call(event)
        elif kind == "assistant_text":
            self._assistant(event.text or "")
        elif kind == "user_prompt":
            self._typed(event.text or "")
        elif kind == "compaction":
            self.compactions += 1
        elif kind != "reasoning":
            self._harness(event)

    def _call(self, event: SessionEvent) -> None:
        self._working()
        self.runs.call(event, self.events)
        if event.tool_class == "plan" and event.tool is not None:
            self.plans.call(event.tool, event.text or "", event.call_id)

    def _result(self, event: SessionEvent) -> None:
        self.active = self.events
        self.runs.result(event)
        self.plans.result(event.call_id, event.text or "")
        if event.label == "interrupted":
            self._interruption()

    def _assistant(self, text: str) -> None:
        self._working()
        self.last_answer = self.events
        self.last_words = text[-_WORDS_CHARS:]
        self._decided(text)
        for item in todos_in(text):
            if len(self.todos) < MAX_ITEMS:
                self.todos[item] = None

    def _working(self) -> None:
        self.active = self.events
        if self.first_work < 0:
            self.first_work = self.events

    def _typed(self, text: str) -> None:
        self.active = self.events
        text = typed(text)
        self.prompt_keys.add(text_key(text))
        self.todos.clear()  # what was left open before this prompt may be what it asks for
        self._decided(text)
        self._prompt(text, self.events)

    def _harness(self, event: SessionEvent) -> None:
        text, label = event.text or "", event.label or ""
        if event.kind == "error":
            self.failed = self.events
            self.api_error = excerpt(text, _CORRECTION_CHARS)
            self.runs.error(text, event.seq, event.tool)
        elif label == "queued_prompt":
            if len(self.queued) < _MAX_QUEUED:
                text = typed(text)
                self.queued.setdefault(text_key(text), (self.events, text[:_QUEUED_CHARS]))
        elif "interrupt" in label or "abort" in label:
            self._interruption()
        elif event.kind == "injected" and (event.origin == "agent" or label == "command"):
            # A task given by another agent, or a slash command with words of the user's own.
            words = text.strip()
            asks = event.origin == "agent" or (" " in words and is_request(words))
            self._objective(_DELEGATED if asks else _WEAK, words, self.events)

    def _interruption(self) -> None:
        # A stop is often written twice: on the tool's result and as a line of its own.
        if self.interrupted < self.active or self.interrupted < 0:
            self.interruptions += 1
        self.interrupted = self.events
        self.active = min(self.active, self.events - 1)

    def _prompt(self, text: str, pos: int) -> None:
        """A turn of the user: perhaps the objective, perhaps a verdict on the work so far."""
        if is_internal_prompt(text):
            self.internal += 1
            return
        self.turns += 1
        own = without_own_text(text)
        latest = pos > self.last_prompt
        if latest:
            self.last_prompt = pos
            self.stopped, self.complaint = stops_work(text), None
            self.user_words = excerpt(own, _CORRECTION_CHARS)
        asks = is_request(text)
        self.asks = asks if latest else self.asks
        self.requests += asks
        self._objective(_OWN if asks else _WEAK, text, pos)
        if asks:
            self.main_request.add(own, pos)
        if not 0 <= self.first_work < pos:
            return
        reading = read_prompt(text)
        if reading.rejects:
            if self.rejection is None or pos > self.rejection.pos:
                self.rejection = Mark(pos, excerpt(text, _CORRECTION_CHARS))
        elif reading.approval and (self.approval is None or pos > self.approval.pos):
            self.approval = Mark(pos, excerpt(text, _CORRECTION_CHARS), reading.approval)
        if reading.corrects:
            if latest:
                self.complaint = Mark(pos, excerpt(text, _CORRECTION_CHARS))
            self.corrections.append((pos, excerpt(text, _CORRECTION_CHARS)))
            if len(self.corrections) > MAX_CORRECTIONS * 4:
                self._cut_corrections()

    def _cut_corrections(self) -> list[str]:
        self.corrections.sort()
        excess = len(self.corrections) - MAX_CORRECTIONS
        if excess > 0:
            del self.corrections[:excess]
            self.runs.dropped["corrections"] = self.runs.dropped.get("corrections", 0) + excess
        return [text for _, text in self.corrections]

    def _objective(self, rank: int, text: str, pos: int) -> None:
        if rank == _INHERITED and not is_request(text):
            return
        earlier = self.objectives.get(rank)
        if earlier is None or pos < earlier[0]:
            shown = objective_of(without_own_text(text))
            if shown:
                self.objectives[rank] = (pos, shown)

    def _best_objective(self) -> str | None:
        best = min(self.objectives, default=None)
        if best is None:
            return None
        pos, shown = self.objectives[best]
        return self.main_request.joined_to(shown, pos) if best == _OWN else shown

    def _decided(self, text: str) -> None:
        for decision in decisions_in(text):
            if len(self.decisions) < MAX_DECISIONS:
                self.decisions[decision] = None
            elif decision not in self.decisions:
                self.runs.dropped["decisions"] = self.runs.dropped.get("decisions", 0) + 1

    def _evidence(self, cwd: str, open_items: int, done_items: int) -> Evidence:
        return Evidence(
            work=self.logs.end_in(cwd).work,
            approval=self.approval,
            rejection=self.rejection,
            last_prompt=self.last_prompt,
            last_answer=self.last_answer,
            stopped=self.stopped,
            complaint=self.complaint,
            unanswered=self.asks and self.last_prompt >= self.active,
            interrupted=self.interrupted > self.active,
            api_error=self.api_error if self.failed > self.active else None,
            open_items=open_items,
            done_items=done_items,
            last_words=self.last_words,
        )

    def digest(self, session: Session) -> Digest:
        """The digest of everything taken in."""
        for key, (pos, text) in self.queued.items():
            if key not in self.prompt_keys:
                self._prompt(text, pos)
        if session.title:
            self._objective(_TITLE, session.title, 0)
        planned, done = self.plans.items()
        verdict = judge(self._evidence(session.cwd or "", len(planned), done))
        open_items = distinct(tuple(planned), tuple(self.todos))
        if len(open_items) > MAX_ITEMS:
            self.runs.dropped["open_items"] = len(open_items) - MAX_ITEMS
        digest = Digest(
            flavor=session.flavor,
            objective=self._best_objective(),
            outcome=verdict.outcome,
            confidence=verdict.confidence,
            grounds=verdict.grounds[:MAX_GROUNDS],
            source_fingerprint=self.fingerprint.hex(),
            events=self.events,
            first_at=self.first_at,
            last_at=self.last_at,
            duration_s=seconds(self.first_at, self.last_at),
            turns=self.turns,
            requests=self.requests,
            internal_prompts=self.internal,
            corrections=tuple(self._cut_corrections()),
            decisions=tuple(self.decisions),
            open_items=open_items[:MAX_ITEMS],
            interruptions=self.interruptions,
            compactions=self.compactions,
            cost=session.cost,
            task=verdict.task,
            ended=verdict.ended,
            basis=verdict.basis,
            cures=self.cures.find(self.calls),
            rules=self.rules.statements(),
            notices=find_notices(self.calls.attempts),
            git=self.logs.end_in(session.cwd or "").git,
            last_words=self.user_words,
            version=DIGEST_VERSION,
        )
        return _with_runs(digest, self.runs)


def _with_runs(digest: Digest, runs: RunLog) -> Digest:
    """Add what the tool calls did, within the limits."""
    commands = runs.commands()
    errors, errors_dropped = fit_errors(list(runs.errors.values()))
    files, files_dropped = fit_files(runs.files)
    return msgspec.structs.replace(
        digest,
        tools=runs.tools,
        files=files,
        commands=commands,
        errors=errors,
        retries=runs.retries,
        loops=tuple(runs.loops),
        tests_run=runs.tests_run,
        tests_failed=runs.tests_failed,
        denials=runs.denials,
        calls_before_edit=runs.calls_before_edit,
        dropped=summed(runs.dropped, {"errors": errors_dropped, "files": files_dropped}),
    )
