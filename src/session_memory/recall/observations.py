"""Observations as they are shown: rules judged over all sessions of their project.

A wish that was said once is a matter of its task. Only the sessions together show which wishes were
repeated, taken back, or said again in better words, so this is worked out at each request.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec.structs import replace

from session_memory.clock import iso
from session_memory.core.schema import EXCLUDED_STATUSES, Observation
from session_memory.core.work_state import still_open
from session_memory.distil.lasting import (
    is_for_now,
    is_meant_to_last,
    names_its_moment,
    wish_in,
)
from session_memory.distil.rule_clarity import reads_aloud, says_how_to_work
from session_memory.distil.rule_wording import WANTS_IT_WRITTEN
from session_memory.distil.rules import StandingRule, judge_statements
from session_memory.store.port import ObservationQuery, RecallStore, SessionQuery

_DAY_MS = 86_400_000
_REPEATED = 2
_ITEMS = ("pending_item", "blocker")
_LEFT_OUT = {
    "session_summary": "little came of this turn",
    "user_request": "says little alone",
    "constraint": "said in one session and not firmly: a matter of its task",
    "pending_item": "a step that every task has, or the agent says that it is done",
    "completed_item": "a step that every task has",
    "completion_claim": "does not say what was done, or its summary tells it",
}


class ShownObservation(msgspec.Struct, frozen=True):
    """An observation, and the rule it is the wording of."""

    observation: Observation
    rule: StandingRule | None = None
    copied: bool = False
    """An older session has the same: agents copy sessions when they are resumed or forked."""
    of_one_day: bool = False
    """A wish that was never firm and was repeated within a day only: one task, two sessions."""

    done: bool = False
    """A wish of one session that began a turn whose summary is shown."""

    @property
    def sure(self) -> str:
        """How sure it is: who said it and, of a rule, how often."""
        rule = self.rule
        if rule is None:
            return {"user": "said by the user", "agent": "said by the agent"}.get(
                self.observation.origin, "read from the log"
            )
        if rule.times == 1:
            return "stated once, firmly"
        sessions = f"{rule.sessions} session" + ("s" if rule.sessions > 1 else "")
        return f"stated {rule.times} times in {sessions}, last {(iso(rule.last_at) or '-')[:10]}"

    @property
    def _is_for_now(self) -> bool:
        """Whether a wish is about the step at hand; a repeated one only if it says so."""
        rule, text = self.rule, self.observation.text
        if rule is not None and rule.sessions >= _REPEATED:
            return rule.intent is None and names_its_moment(text)
        return is_for_now(text)

    @property
    def _is_of_one_task(self) -> bool:
        """Whether a wish was an order for its task, or makes no sense outside its session."""
        rule, text = self.rule, self.observation.text
        if rule is None:  # labelled as a constraint by whoever wrote it
            return False
        lasts = is_meant_to_last(text)
        repeated = rule.sessions >= _REPEATED
        if rule.intent is not None:  # its name says what is wanted, whatever the quote says
            return not (lasts or repeated)
        if repeated:
            return False
        if rule.why.startswith(WANTS_IT_WRITTEN) or not reads_aloud(text):
            return True
        return not (lasts or says_how_to_work(text))

    @property
    def left_out(self) -> str | None:
        """Why it is not shown by default; None for what is."""
        status = self.observation.status
        kind = self.observation.type
        if self.copied and status not in EXCLUDED_STATUSES:
            return "the same was noted in an older session"
        if self.of_one_day and status not in EXCLUDED_STATUSES:
            return "said on one day only and not firmly: a matter of its task"
        if self.done and status not in EXCLUDED_STATUSES:
            return "a summary tells what came of it"
        if kind == "constraint" and status not in EXCLUDED_STATUSES and self._is_for_now:
            return "about the step at hand: it does not say what holds later"
        if kind == "constraint" and status not in EXCLUDED_STATUSES and self._is_of_one_task:
            return "an order of its task, or not clear without the session"
        if kind == "session_summary" and status == "snapshot":
            return "no check, no commit, or done over: nothing shows that it lasted"
        if kind == "user_request" and status not in EXCLUDED_STATUSES:
            return "a summary tells what came of it, or nothing did"
        if kind in ("completed_item", "completion_claim") and status not in EXCLUDED_STATUSES:
            return "a step: the summary of its turn tells what came of it"
        if status == "superseded":
            item = self.observation.type in _ITEMS
            return "done, dropped or overtaken since" if item else "said again in other words"
        if status == "retired":
            return "taken back later"
        if status == "low_value":
            return _LEFT_OUT.get(self.observation.type, "says little")
        return None


def shown_observations(store: RecallStore, query: ObservationQuery) -> list[ShownObservation]:
    """What fits a query, oldest first; of more than its limit the latest."""
    unlimited = replace(query, limit=None)
    observations = [
        ShownObservation(observation)
        for observation in store.observations(unlimited)
        if observation.type != "constraint"
    ]
    observations = _copies_marked(_settled(store, observations, closed=query.excluded))
    if not query.excluded:
        observations = [each for each in observations if each.left_out is None]
    if not query.types or "constraint" in query.types:
        observations += _constraints(store, query)
        observations.sort(
            key=lambda each: -1 if each.observation.at is None else each.observation.at
        )
    return observations if query.limit is None else observations[-query.limit :]


def _copies_marked(shown: list[ShownObservation]) -> list[ShownObservation]:
    first: dict[tuple[str, str], int] = {}
    for each in shown:
        first.setdefault((each.observation.type, each.observation.text), each.observation.session)
    return [
        replace(each, copied=first[observation.type, observation.text] != observation.session)
        for each in shown
        for observation in (each.observation,)
    ]


def _settled(
    store: RecallStore, shown: list[ShownObservation], *, closed: bool
) -> list[ShownObservation]:
    """Items and blockers that are not open any more: as superseded, or left out."""
    items = [
        observation
        for each in shown
        if (observation := each.observation).type in _ITEMS
        and observation.status not in EXCLUDED_STATUSES
    ]
    keys = {
        observation.session: store.session(observation.session).project_key for observation in items
    }
    queries = {ObservationQuery(project=key) for key in keys.values() if key}
    queries |= {ObservationQuery(session=session) for session, key in keys.items() if not key}
    open_now = frozenset[str]().union(
        *(still_open(store.observations(observation)) for observation in queries)
    )
    over = {observation.hash for observation in items} - open_now
    if not closed:
        return [each for each in shown if each.observation.hash not in over]
    return [
        ShownObservation(replace(each.observation, status="superseded"))
        if each.observation.hash in over
        else each
        for each in shown
    ]


def _constraints(store: RecallStore, query: ObservationQuery) -> list[ShownObservation]:
    everything = replace(query, types=("constraint",), excluded=True, limit=None)
    constraints = judged(store, store.observations(everything))
    summaries = store.observations(replace(everything, types=("session_summary",), excluded=False))
    constraints = _orders_marked(
        constraints, [summary for summary in summaries if summary.status == "done"]
    )
    return [each for each in constraints if query.excluded or each.left_out is None]


def _orders_marked(
    shown: list[ShownObservation], summaries: Iterable[Observation]
) -> list[ShownObservation]:
    """A wish of one session whose turn has a summary was an order that is done."""
    done: dict[int, list[str]] = {}
    for observation in summaries:
        done.setdefault(observation.session, []).append(observation.text)
    return [
        replace(
            each,
            done=(each.rule is None or each.rule.sessions < _REPEATED)
            and any(
                text.startswith(observation.text) for text in done.get(observation.session, ())
            ),
        )
        for each in shown
        for observation in (each.observation,)
    ]


def judged(store: RecallStore, constraints: Iterable[Observation]) -> list[ShownObservation]:
    """Constraints, each with the status that all sessions of its project give it."""
    statements = list(constraints)
    sessions_named = {statement.session for statement in statements}
    verdicts = {
        key: verdict
        for sessions in _by_project(store, sessions_named)
        for key, verdict in judge_statements(store.scopes.rules(sessions)).items()
    }
    verdict_notes: list[ShownObservation] = []
    for statement in statements:
        verdict = verdicts.get((statement.session, _seq(statement), statement.text))
        if verdict is None:
            verdict_notes.append(ShownObservation(statement))
        else:
            lasting = statement.status == "active" or _names_or_spans(verdict.rule)
            judged_statement = replace(
                statement, status=verdict.status, text=_worded(statement.text, verdict.rule)
            )
            verdict_notes.append(
                ShownObservation(judged_statement, verdict.rule, of_one_day=not lasting)
            )
    return verdict_notes


def _worded(text: str, rule: StandingRule | None) -> str:
    """The words of a wish; if several sessions have it, those of the clearest one."""
    repeated = rule is not None and rule.sessions >= _REPEATED
    if rule is not None and repeated and rule.intent is None and names_its_moment(text):
        others = (each.text for each in reversed(rule.evidence))
        text = next((other for other in others if not names_its_moment(other)), text)
    return wish_in(text)


def _names_or_spans(rule: StandingRule | None) -> bool:
    """Whether a rule is a well-known wish, or was stated on more than one day."""
    if rule is None or rule.intent is not None or rule.first_at is None or rule.last_at is None:
        return True
    return rule.first_at // _DAY_MS != rule.last_at // _DAY_MS


def _by_project(store: RecallStore, wanted: set[int]) -> Iterable[list[int]]:
    """All sessions of each project that has one of these; a session without project is alone."""
    keys = {session: store.session(session).project_key for session in wanted}
    for key in set(keys.values()) - {None}:
        yield [each.id for each in store.sessions(SessionQuery(project=key))]
    yield from ([session] for session, key in keys.items() if key is None)


def _seq(observation: Observation) -> int:
    return -1 if observation.event is None else observation.event & 0xFFFFFF
