"""What a session said that is worth knowing later: requests, rules, decisions, work open and done.

Only what people and agents say, and what plan tools and commands show, is read; the words of tools
and web pages never are, so that no page can plant a rule.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from msgspec.structs import replace

from session_memory.core.hashing import blake2b
from session_memory.core.schema import (
    EXCLUDED_STATUSES,
    Observation,
    ObservationStatus,
    ObservationType,
    RuleStatement,
    Session,
    SessionEvent,
)
from session_memory.core.text.masks import excerpt
from session_memory.core.text.own_text import without_own_text
from session_memory.core.text.similarity import plain_words, untagged
from session_memory.distil.attempts import Attempt
from session_memory.distil.inputs import (
    asks_little,
    is_probe,
    is_typed_command,
    nods,
    request_of,
)
from session_memory.distil.labels import labelled
from session_memory.distil.left_open import left_open
from session_memory.distil.outcome import claims_completion
from session_memory.distil.plan_items import PlanItems, is_routine
from session_memory.distil.plans import decisions_in
from session_memory.distil.prompts import read_prompt
from session_memory.distil.session_logs import SessionLogs
from session_memory.distil.settled import ClosedTurn, credited, turn_work, which_lasted
from session_memory.distil.substance import typed
from session_memory.distil.turns import Ref, Turn, claims_little
from session_memory.distil.user_words import QUEUED

TEXT_CHARS = 500
REQUEST_CHARS = 280
MAX_PER_TURN = 24
MAX_PER_SESSION = 300
_SLACK = 4  # the list may outgrow its limit this much before it is cut: few cuts, bounded memory
_SAME_START = 40
_MAX_RAN = 3000  # commands that may turn out to have left something open
_OPEN = ("pending_item", "blocker")
_HASH = blake2b(digest_size=12)  # copied for each: making a new one takes twice as long
_TURN_TEXTS = 60  # texts read for labels in one turn; an agent that talks more repeats itself

_IMPORTANCE: dict[ObservationType, int] = {
    "session_summary": 2,
    "decision": 4,
    "objective": 4,
    "user_request": 3,
    "constraint": 4,
    "project_dod": 5,
    "mission_dod": 5,
    "session_dod": 4,
    "pending_item": 4,
    "completed_item": 2,
    "blocker": 5,
    "completion_claim": 2,
}
_STATUS: dict[ObservationType, ObservationStatus] = {
    "session_summary": "snapshot",
    "completed_item": "done",
    "completion_claim": "snapshot",
}


def observe(session: Session, events: Iterable[SessionEvent]) -> list[Observation]:
    """The observations of a session from its events in source order, each with its text."""
    logs = SessionLogs()
    observer = Observer(session, logs)
    for event in events:
        logs.add(event)
        observer.add(event)
    return observer.finish()


class Observer:
    """Takes events one by one, so that the digest can be built from the same pass.

    `logs` has read each event before this does.
    """

    def __init__(self, session: Session, logs: SessionLogs) -> None:
        self._session = session.id
        self._cwd = session.cwd or ""
        self._logs = logs
        self._name = f"{session.flavor}\0{session.external_id}\0".encode()
        self._internal = session.source_kind == "internal"
        self._at: int | None = None
        self._turn = Turn()
        self._of_turn: list[tuple[Ref, Observation]] = []
        self._kept: dict[str, tuple[int, Observation]] = {}
        self._plan = PlanItems()
        self._planned: dict[str, tuple[Ref, bool]] = {}
        self._ran: dict[int, Ref] = {}
        self._turns: list[ClosedTurn] = []
        self._left: list[str] = []
        """Open items and blockers that the agent named in the last turn in which it spoke."""
        self._last_words = ""

    def add(self, event: SessionEvent) -> None:
        """Take in the next event; events a fork copied were observed in the original session."""
        if event.at is not None:
            self._at = event.at
        if event.inherited or self._internal:
            return
        kind = event.kind
        if kind == "tool_result":
            self._plan.result(event.call_id, event.text or "")
        elif kind == "tool_call":
            self._call(event)
        elif kind == "assistant_text":
            self._answer(event)
        elif kind == "user_prompt":
            self._input(event)
        elif event.label in QUEUED:
            self._queued(event)
        elif kind == "injected":
            self._injected(event)
        if self._logs.new_rules:
            self._wishes(self._logs.new_rules, event)

    def finish(self) -> list[Observation]:
        """Everything observed, in source order."""
        self._close(last=True)
        self._sum_up()
        # An agent that says it is done only forgot to tick off the rest of its plan.
        forgotten = claims_completion(self._last_words)
        for words, (ref, done) in self._planned.items():
            kind = "completed_item" if done else "pending_item"
            little = is_routine(words) or (forgotten and not done)
            self._keep(ref, self._made(kind, words, ref, "low_value" if little else None))
        for end in left_open(self._logs.calls.attempts, self._logs.end_in(self._cwd)):
            ref = self._ran.get(end.seq)
            if ref is not None:
                ref = replace(ref, origin="tool")  # nobody said it: commands show it
                self._keep(ref, self._made(end.type, end.text, ref))
        self._cut(MAX_PER_SESSION)
        in_order = sorted(self._kept.values(), key=lambda entry: entry[0])
        return [observation for _, observation in in_order]

    # --- what the user says ---

    def _input(self, event: SessionEvent) -> None:
        if self._turn.active:
            self._close()
        text = without_own_text(event.text or "").strip()
        if not text or not self._turn.heard(is_probe(text)):
            return
        if self._turns and (read := read_prompt(text)).corrects:
            self._turns[-1] = replace(self._turns[-1], rejected=read.rejects, corrected=True)
        ref = self._ref(event)
        self._request(text, ref)
        self._labels(text, ref)

    def _wishes(self, said: Iterable[RuleStatement], event: SessionEvent) -> None:
        """What may be a rule; said once and not firmly it is a matter of its task."""
        for wish in said:
            if wish.stance in ("for", "against"):
                status = "active" if wish.firm else "low_value"
                self._say("constraint", wish.text, self._ref(event), status)

    def _request(self, text: str, ref: Ref) -> None:
        own = typed(text)
        shown = request_of(untagged(own or text), REQUEST_CHARS)
        little = asks_little(own)
        self._say("user_request", shown, ref, "low_value" if little else "active")
        if not little:
            self._turn.asked = self._turn.asked or shown
        elif not nods(own):
            self._turn.hint = self._turn.hint or shown

    def _queued(self, event: SessionEvent) -> None:
        """What was typed while the agent was busy belongs to the turn that goes on."""
        text = without_own_text(event.text or "").strip()
        if event.origin == "user" and text and not is_probe(text):
            if self._turn.probe and self._turn.active:
                self._close()  # the user did not ask for what a program began
            self._turn.heard(False)
            self._request(text, self._ref(event))

    def _injected(self, event: SessionEvent) -> None:
        """A task from another agent begins a turn; words typed behind a slash command ask."""
        text = without_own_text(event.text or "").strip()
        if event.origin == "agent":
            if self._turn.active:
                self._close()
            if self._turn.heard(is_probe(text)):
                self._turn.asked = self._turn.asked or request_of(untagged(text), REQUEST_CHARS)
        elif event.label == "command" and is_typed_command(text):
            if self._turn.active:
                self._close()
            if self._turn.heard(is_probe(text)):
                self._request(text, self._ref(event))

    # --- what the agent says and does ---

    def _answer(self, event: SessionEvent) -> None:
        text = without_own_text(event.text or "")
        if not text or text.isspace():
            return
        ref = self._ref(event)
        self._last_words = text
        self._turn.answered(text, ref)
        if self._turn.texts <= _TURN_TEXTS:
            self._labels(text, ref)

    def _call(self, event: SessionEvent) -> None:
        ref = self._ref(event)
        self._turn.called(event, ref)
        if event.tool_class == "plan" and event.tool is not None:
            self._plan.call(event.tool, event.text or "", event.call_id)
            if not self._turn.probe:
                self._replan(ref)
        elif event.command:
            self._ran[event.seq] = ref
            if len(self._ran) > _MAX_RAN:
                del self._ran[next(iter(self._ran))]

    def _replan(self, ref: Ref) -> None:
        """Take the plan as it stands; items removed from it undone are no longer open."""
        changed = self._plan.changes()
        if changed is None:
            return
        opened, done = changed
        for words in [words for words, (_, ready) in self._planned.items() if not ready]:
            if words not in opened and words not in done:
                del self._planned[words]
        for words in done:
            if words not in self._planned or not self._planned[words][1]:
                self._planned[words] = (ref, True)
        for words in opened:
            if words not in self._planned or self._planned[words][1]:
                self._planned[words] = (ref, False)

    def _labels(self, text: str, ref: Ref) -> None:
        statements = labelled(text)
        for each in statements:
            self._say(each.type, each.text, ref)
        named = [each.text[:_SAME_START] for each in statements if each.type == "decision"]
        for decision in decisions_in(text):
            if not any(decision.startswith(start) for start in named):
                self._say("decision", decision, ref)

    # --- turns ---

    def _close(self, *, last: bool = False) -> None:
        """End a turn: a probe leaves nothing, any other what was said and one summary."""
        turn, said = self._turn, self._of_turn
        self._turn, self._of_turn = Turn(self._logs.pos), []
        if turn.probe:
            return
        little = turn.says_little(last=last)
        for ref, observation in said[:MAX_PER_TURN]:
            if observation.type == "user_request" and observation.status == "active":
                status = turn.worth(observation.text, little=little, last=last)
                observation = replace(observation, status=status)
            self._keep(ref, observation)
        if turn.last is not None:
            self._supersede(said)
            work = turn_work(self._calls_since(turn.began), self._cwd)
            self._turns.append(
                ClosedTurn(
                    ref=turn.last,
                    request=turn.request(),
                    answer="" if work.commits else turn.gist(),
                    edited=turn.edited(),
                    little=little,
                    cosmetic=turn.only_looks_changed(),
                    work=work,
                )
            )
            claim = turn.claim()
            if claim and not any(_says_the_same(observation, claim) for _, observation in said):
                # Where the summary stays, it says what the claim says.
                status = "low_value" if little or claims_little(claim) else "done"
                self._keep(turn.last, self._made("completion_claim", claim, turn.last, status))

    def _sum_up(self) -> None:
        """One summary per turn: done if its work lasted, else a snapshot of what was said."""
        turns = credited(self._turns)
        for turn, lasted in zip(turns, which_lasted(turns), strict=True):
            status = "done" if lasted else "snapshot"
            status = "low_value" if turn.says_little else status
            made = self._made("session_summary", turn.summary, turn.ref, status)
            self._keep(turn.ref, made)

    def _calls_since(self, pos: int) -> list[Attempt]:
        """The calls of the turn that began there."""
        calls = self._logs.calls.attempts
        return calls[bisect_left(calls, pos, key=lambda call: call.pos) :]

    def _supersede(self, said: list[tuple[Ref, Observation]]) -> None:
        """What the agent called open in an earlier turn was done, dropped or is named again."""
        named = [item for ref, item in said if item.type in _OPEN and ref.origin != "user"]
        again = {item.hash for item in named}
        for name in self._left:
            if name in self._kept and name not in again:
                pos, item = self._kept[name]
                self._kept[name] = (pos, replace(item, status="superseded"))
        self._left = [item.hash for item in named]

    def _say(
        self,
        kind: ObservationType,
        text: str,
        ref: Ref,
        status: ObservationStatus | None = None,
    ) -> None:
        self._of_turn.append((ref, self._made(kind, text, ref, status)))

    def _ref(self, event: SessionEvent) -> Ref:
        return Ref(self._logs.pos, event.id, event.origin, self._at)

    def _made(
        self,
        kind: ObservationType,
        text: str,
        ref: Ref,
        status: ObservationStatus | None = None,
    ) -> Observation:
        shown = untagged(text)
        if len(shown) > TEXT_CHARS or not shown.isprintable():
            shown = excerpt(shown, TEXT_CHARS)
        # Summaries are never repeated; only what may be repeated is compared by its words.
        said = shown if kind == "session_summary" else plain_words(shown) or shown
        name = _HASH.copy()
        name.update(self._name + f"{kind}\0{said}".encode("utf-8", "replace"))
        return Observation(
            type=kind,
            status=status or _STATUS.get(kind, "active"),
            text=shown,
            importance=_IMPORTANCE[kind],
            session=self._session,
            event=ref.event,
            origin=ref.origin,
            hash=name.hexdigest(),
            at=ref.at,
        )

    def _keep(self, ref: Ref, observation: Observation) -> None:
        """Keep the latest of what is said more than once: newest wins."""
        if observation.text:
            self._kept.pop(observation.hash, None)
            self._kept[observation.hash] = (ref.pos, observation)
            if len(self._kept) > MAX_PER_SESSION * _SLACK:
                self._cut(MAX_PER_SESSION * 2)

    def _cut(self, limit: int) -> None:
        """Drop the least important, the oldest of those first."""
        if len(self._kept) <= limit:
            return
        ranked = sorted(self._kept, key=lambda name: _worth(*self._kept[name]), reverse=True)
        best = frozenset(ranked[:limit])
        self._kept = {name: entry for name, entry in self._kept.items() if name in best}


def _says_the_same(observation: Observation, claim: str) -> bool:
    """Whether a labelled line already says the same as a claim."""
    return observation.type in ("completed_item", "completion_claim") and observation.text in claim


def _worth(pos: int, observation: Observation) -> tuple[bool, int, int]:
    return observation.status not in EXCLUDED_STATUSES, observation.importance, pos
