"""Standing rules: what the user says that outlives a session, found without a model.

Better silent than wrong. A sentence said once is a rule only when it is firm; any other wish
becomes one when the user voices it in two sessions. What the user takes back is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Literal

import msgspec

from session_memory.core.digest import MAX_RULES
from session_memory.core.hashing import text_key
from session_memory.core.schema import ObservationStatus, RuleStatement, SessionEvent
from session_memory.core.text.masks import excerpt
from session_memory.distil.rule_terms import GENERIC, MATERIAL, PROCESS, terms_of, without_opening
from session_memory.distil.rule_wording import (
    ASKS_FOR_REPORT,
    SHOULD_BE,
    SHOULD_NOT_BE,
    Moment,
    Wording,
    may_rule,
    read_wording,
    reads_as_rule,
)
from session_memory.distil.user_words import spoken_sentences, user_words
from session_memory.regex_cache import compiled

_TEXT_CHARS = 280
_MAX_PROMPTS = 2000
_AFTER_REFUSAL = "after a refusal"

Sureness = Literal["repeated", "stated once, firmly"]


class Evidence(msgspec.Struct, frozen=True):
    """Where a rule was stated."""

    session: int
    seq: int
    at: int | None
    text: str


class StandingRule(msgspec.Struct, frozen=True):
    """A rule of the user for one project, in the words that say it best."""

    text: str
    intent: str | None
    """A name for the wish, where users voice it in many different words."""
    why: str
    sure: Sureness
    sessions: int
    times: int
    first_at: int | None
    last_at: int | None
    evidence: tuple[Evidence, ...]
    """Every statement, oldest first."""
    corrects: bool = False
    """Said firmly, or right after the user stopped the agent, at least once."""


class RuleLog:
    """Takes in the events of a session in order and keeps what sounds like a rule."""

    def __init__(self) -> None:
        self._found: dict[str, RuleStatement] = {}
        self._heard: set[int] = set()
        self._worked = False
        self._refused = False

    def add(self, event: SessionEvent) -> tuple[RuleStatement, ...]:
        """Take in one event; returns the statements it adds."""
        kind = event.kind
        if kind in ("assistant_text", "tool_call"):
            self._worked = True
            self._refused = False
            return ()
        if event.inherited:
            return ()
        label = event.label or ""
        if label == "denied" or "interrupt" in label or "abort" in label:
            self._refused = True
        words = user_words(event)
        if not words:
            return ()
        words = _TAG.sub("[REDACTED_SECRET]", words)
        if len(self._heard) >= _MAX_PROMPTS:
            return ()
        key = text_key(words)
        if key in self._heard:
            return ()
        self._heard.add(key)
        count = len(self._found)
        if label == "denied" or may_rule(words):
            self._hear(words, event)
        return tuple(islice(self._found.values(), count, None))

    def _hear(self, words: str, event: SessionEvent) -> None:
        task = _describes_a_task(words)
        place = self._place(event)
        before = ""
        pending: tuple[Wording, str] | None = None
        for sentence in spoken_sentences(words):
            if sentence.endswith(":"):  # announces something else
                continue
            text = sentence
            wording = read_wording(sentence, place)
            if task and wording and wording.firm:
                wording = msgspec.structs.replace(wording, firm=False)
            if sentence.lower().replace("'", "").strip("!. ") in _BARE_STOPS:
                wording = Wording("stops the agent", False, "against") if before else None
                text, before = f"{before} {sentence}", ""
            else:
                before = sentence
            # "Discuss first. You edited without me.": one wish in two sentences.
            if pending and wording and pending[0].intent and pending[0].intent == wording.intent:
                text = f"{pending[1]}. {text}"
                wording = max(pending[0], wording, key=lambda each: each.firm)
            elif pending:
                self._keep(*pending, event)
            pending = (wording, text) if wording else None
        if pending:
            self._keep(*pending, event)

    def _place(self, event: SessionEvent) -> Moment:
        if event.label == "denied":
            return "reason"
        if self._refused:
            return "refused"
        return "later" if self._worked else "opening"

    def _keep(self, wording: Wording, text: str, event: SessionEvent) -> None:
        terms = terms_of(text)
        if not terms or (wording.firm and wording.intent is None and len(terms) < _LEAST_TERMS):
            return
        why = f"{wording.why}, {_AFTER_REFUSAL}" if self._refused else wording.why
        statement = RuleStatement(
            text=excerpt(without_opening(text), _TEXT_CHARS),
            seq=event.seq,
            at=event.at,
            why=why,
            firm=wording.firm,
            stance=wording.stance,
            intent=wording.intent,
            opens=not self._worked,
        )
        self._found.setdefault(statement.text.lower(), statement)

    def statements(self) -> tuple[RuleStatement, ...]:
        """As many as a digest keeps, firm ones before the latest; in the order they were said."""
        said = list(enumerate(self._found.values()))
        best = sorted(said, key=lambda each: (not each[1].firm, -each[0]))[:MAX_RULES]
        return tuple(statement for _, statement in sorted(best, key=lambda each: each[0]))


_TAG = compiled(r"\[REDACTED_SECRET:[0-9a-f]+\]")  # keyed by the store: no part of what is said
_LEAST_TERMS = 2
_TASK_CHARS = 900
_LISTED = compiled(r"^\s*(?:[-*•]|\d+[.)]) ", re.M)
_TASK_LINES = 3


def _describes_a_task(words: str) -> bool:
    """A long or listed prompt says what one task needs, even in the middle of a session."""
    return len(words) > _TASK_CHARS or len(_LISTED.findall(words)) >= _TASK_LINES


# They stop what the sentence before them names.
_BARE_STOPS = frozenset(
    (
        *("stop", "stop it", "stop that", "please stop", "you can stop", "dont", "dont do that"),
        *("unnecessary", "not necessary", "i didnt want that", "i didnt ask for that"),
    )
)


# --- over the sessions of one project ---


class _Said(msgspec.Struct, frozen=True):
    session: int
    statement: RuleStatement
    terms: frozenset[str]
    """What it is about; not kept in the digest, where forgetting could not find a word's stem."""

    @property
    def order(self) -> tuple[int, int, int, str]:
        statement = self.statement
        return (statement.at or 0, self.session, statement.seq, statement.text)


_REPEATED = 2
_LEAST_INTENT_TERMS = 2  # terms that the wording of an intent needs to be understood later
_ALIKE = 0.45
_SHARED_WEIGHT = 1.3
_COMMON_WEIGHT = 0.35
_COMMON_SHARE = 0.1
_FEW = 4
_SAME_TERMS = 2
_REMARK_WORDS = 12
_PUNCTUATION = compiled(r"\W+")
_PASTED_CHARS = 40
"""Nobody types as much in the same words twice."""
_NAMES_CODE = compiled(r"[`{}<>=]|\w_\w|[a-z][A-Z]|\(\)|\d")
_MOST_COMMON = 30  # sessions; keeps comparing cheap for large projects


def standing_rules(by_session: Mapping[int, Sequence[RuleStatement]]) -> list[StandingRule]:
    """The rules that stand, the best supported first; whatever order the sessions come in."""
    said = sorted(
        (
            _Said(session, statement, frozenset(terms_of(statement.text)))
            for session, statements in by_session.items()
            for statement in statements
        ),
        key=lambda each: each.order,
    )
    alike = _Likeness(said)
    rules = (_rule(_not_withdrawn(group, said, alike)) for group in _groups(said, alike))
    return sorted(
        (rule for rule in rules if rule is not None),
        key=lambda rule: (-rule.sessions, -(rule.last_at or 0), rule.text),
    )


class Verdict(msgspec.Struct, frozen=True):
    """What all sessions of a project make of one statement."""

    status: ObservationStatus
    rule: StandingRule | None = None
    """The rule it belongs to, where that stands."""


def judge_statements(
    by_session: Mapping[int, Sequence[RuleStatement]],
) -> dict[tuple[int, int, str], Verdict]:
    """By session, place and text: of each rule that stands, its best wording is shown."""
    judged = {
        (session, each.seq, each.text): Verdict("retired" if each.firm else "low_value")
        for session, said in by_session.items()
        for each in said
    }
    for rule in standing_rules(by_session):
        best_status: ObservationStatus = "promoted" if rule.sure == "repeated" else "active"
        for each in rule.evidence:
            status = best_status if each.text == rule.text else "superseded"
            judged[each.session, each.seq, each.text] = Verdict(status, rule)
            if status == best_status:
                best_status = "superseded"  # the same words again
    return judged


class _Likeness:
    """How much statements have in common; a term that many sessions use counts little."""

    def __init__(self, said: Sequence[_Said]) -> None:
        sessions: dict[str, set[int]] = {}
        self._holders: dict[str, list[int]] = {}
        for at, each in enumerate(said):
            for term in each.terms:
                sessions.setdefault(term, set()).add(each.session)
                self._holders.setdefault(term, []).append(at)
        share = _COMMON_SHARE * len({each.session for each in said})
        many = min(_MOST_COMMON, max(_FEW, share))
        self._common = {term for term, used in sessions.items() if len(used) > many} | GENERIC
        self._intents: dict[str, list[int]] = {}
        for at, each in enumerate(said):
            if each.statement.intent is not None:
                self._intents.setdefault(each.statement.intent, []).append(at)

    def candidates(self, said: _Said) -> list[int]:
        """Positions of statements that may be like this one, in order of time."""
        intent = said.statement.intent
        if intent is not None:
            return self._intents.get(intent, [])
        rare = [self._holders[term] for term in said.terms if term not in self._common]
        rare = rare or [self._holders[term] for term in said.terms]
        return sorted({at for holders in rare for at in holders})

    def of(self, said: _Said, other: _Said) -> float:
        """From 0 to 1; statements of different intents have nothing in common."""
        mine, theirs = said.statement.intent, other.statement.intent
        if mine is not None or theirs is not None:
            return 1.0 if mine == theirs else 0.0
        both = said.terms & other.terms
        if any(term.startswith("/") for term in both):  # the same tool by name
            return 1.0
        if len(both) >= _SAME_TERMS and both in (said.terms, other.terms):
            return 1.0
        shared = self._weight(both)
        if shared < _SHARED_WEIGHT:
            return 0.0
        return shared / min(self._weight(said.terms), self._weight(other.terms))

    def _weight(self, terms: Iterable[str]) -> float:
        return sum(_COMMON_WEIGHT if term in self._common else 1.0 for term in terms)


def _groups(said: Sequence[_Said], alike: _Likeness) -> list[list[_Said]]:
    """Statements that mean the same, each in one group, oldest first.

    Taken by time, each joins the earlier statement it is most like: the outcome depends on what
    was said and when, not on the order of the sessions.
    """
    groups: list[list[_Said]] = []
    group_of: dict[int, int] = {}
    for at, each in enumerate(said):
        if each.statement.stance in ("allows", "spares"):
            continue
        best, most = None, 0.0
        for other in alike.candidates(each):
            if other >= at or other not in group_of:
                continue
            if said[other].statement.stance != each.statement.stance:
                continue
            likeness = alike.of(each, said[other])
            if likeness > most:
                best, most = other, likeness
            if most >= 1.0:  # nothing is more alike
                break
        if best is None or most < _ALIKE:
            group_of[at] = len(groups)
            groups.append([each])
        else:
            group_of[at] = group_of[best]
            groups[group_of[at]].append(each)
    return groups


def _not_withdrawn(group: list[_Said], said: Sequence[_Said], alike: _Likeness) -> list[_Said]:
    """What was said after the user last said the opposite, or allowed it."""
    # All that voice one intent are alike: what ends the first of them ends the others.
    compared = group[:1] if group[0].statement.intent is not None else group
    withdrawn = max(
        (
            said[at].order
            for each in compared
            for at in alike.candidates(each)
            if _withdraws(said[at], each) and alike.of(said[at], each) >= _ALIKE
        ),
        default=None,
    )
    return [each for each in group if withdrawn is None or each.order > withdrawn]


def _withdraws(later: _Said, earlier: _Said) -> bool:
    """Only what is meant for good: "push it now" does not end "never push without asking"."""
    new, old = later.statement, earlier.statement
    if later.order <= earlier.order or new.stance == old.stance:
        return False
    if new.stance in ("allows", "spares"):
        return (new.stance == "allows") == (old.stance == "against")
    return new.firm and new.intent is None


def _rule(standing: Sequence[_Said]) -> StandingRule | None:
    sessions = _sessions(standing)
    firm = [each for each in standing if each.statement.firm]
    if not standing or (not firm and (sessions < _REPEATED or not _is_about_work(standing))):
        return None
    best = _best(firm or standing)
    return StandingRule(
        text=best.text,
        intent=best.intent,
        why=best.why,
        sure="repeated" if sessions >= _REPEATED else "stated once, firmly",
        sessions=sessions,
        times=len(standing),
        first_at=standing[0].statement.at,
        last_at=standing[-1].statement.at,
        evidence=tuple(
            Evidence(e.session, e.statement.seq, e.statement.at, e.statement.text) for e in standing
        ),
        corrects=bool(firm) or any(_AFTER_REFUSAL in each.statement.why for each in standing),
    )


def _is_about_work(said: Sequence[_Said]) -> bool:
    """Whether it is about how to work: one task may go on over sessions, with its own wishes."""
    corrects = any(not each.statement.opens or each.statement.intent for each in said)
    return corrects and all(map(_names_work, said))


def _names_work(said: _Said) -> bool:
    statement, terms = said.statement, said.terms
    if statement.why.startswith((SHOULD_BE, SHOULD_NOT_BE)):
        return not MATERIAL.isdisjoint(terms)
    return (
        statement.stance == "against"
        or statement.why.startswith(ASKS_FOR_REPORT)
        or any(term in PROCESS or term.startswith("/") for term in terms)
        or (not MATERIAL.isdisjoint(terms) and _is_remark(statement))
    )


def _is_remark(statement: RuleStatement) -> bool:
    """Short and without names of code: what names some, or says much, is about one task."""
    return len(statement.text.split()) <= _REMARK_WORDS and not _NAMES_CODE.search(statement.text)


def _sessions(said: Sequence[_Said]) -> int:
    """Sessions that state it; a prompt that begins several, or is pasted into them, counts once."""
    first: dict[str, int] = {}
    typed: set[int] = set()
    for each in said:
        text = _PUNCTUATION.sub(" ", each.statement.text.lower()).strip()
        pasted = each.statement.opens or len(text) >= _PASTED_CHARS
        typed.add(first.setdefault(text, each.session) if pasted else each.session)
    return len(typed)


def _best(said: Sequence[_Said]) -> RuleStatement:
    """The wording to quote: plain, about what the others share, short; of equals the latest."""
    shared = said[0].terms.intersection(*(each.terms for each in said))

    def merit(each: _Said) -> tuple[object, ...]:
        text, intent = each.statement.text, each.statement.intent
        extra = len(each.terms - shared) if len(said) > 1 else 0
        is_clear = intent is None or len(each.terms) >= _LEAST_INTENT_TERMS
        return ("?" not in text, is_clear, reads_as_rule(text), -extra, each.order)

    return max(said, key=merit).statement
