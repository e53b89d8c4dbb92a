"""What the user wants in a project, by the rules in its digests: quoted, with how often.

A wish of one task is about that task. It is shown only if its own words say that it is meant to
last, and never if a reader who was not there would not know what to do.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from session_memory.clock import iso
from session_memory.core.commands import words
from session_memory.core.forget import FORGOTTEN
from session_memory.distil.lasting import is_meant_to_last
from session_memory.distil.rule_clarity import (
    illustrates,
    is_about_looks,
    reads_aloud,
    says_how_to_work,
)
from session_memory.distil.rule_wording import WANTS_IT_WRITTEN, reads_as_rule
from session_memory.distil.rules import StandingRule, standing_rules
from session_memory.memory.known_session import KnownSession
from session_memory.memory.statements import Statement

MAX_WISHES = 12
_QUOTE_CHARS = 200
_TASKS = 2
_MANY_TASKS = 3
"""In how many tasks a wish such as "discuss first" must be voiced to count as a habit."""
_TRUNKS = words("main master trunk develop dev next head")


class Wishes(msgspec.Struct, frozen=True):
    """The wishes to include, and the others with the reason."""

    included: tuple[Statement, ...] = ()
    left_out: tuple[Statement, ...] = ()


def find_wishes(sessions: Sequence[KnownSession]) -> Wishes:
    """The user's wishes that stand, those of most sessions first."""
    by_id = {session.id: session for session in sessions}
    included: list[Statement] = []
    left_out: list[Statement] = []
    for rule in standing_rules({s.id: s.digest.rules for s in sessions if s.digest.rules}):
        if FORGOTTEN in rule.text:  # without the forgotten words it would only mislead
            continue
        reason = _why_not(rule, _tasks(rule, by_id))
        if not reason and len(included) >= MAX_WISHES:
            reason = "others were voiced more often"
        (left_out if reason else included).append(_statement(rule, by_id, reason))
    return Wishes(tuple(included), tuple(left_out))


def _why_not(rule: StandingRule, tasks: int) -> str:
    """Why a wish is left out; "" if it is not."""
    lasts = is_meant_to_last(rule.text)
    if rule.why.startswith(WANTS_IT_WRITTEN):
        return "it was to be written into an instruction file, where agents read it"
    if not rule.intent and is_about_looks(rule.text):
        return "it is about what the product shows"
    if rule.sure != "repeated" or tasks < _TASKS:
        if not lasts:
            return "said in one task only, and nothing says that it is meant to last"
        return "" if reads_aloud(rule.text) else "its words do not say enough by themselves"
    if rule.intent:
        often = tasks >= _MANY_TASKS or rule.corrects or lasts
        return "" if often else "said in two tasks, each time as an order for that task"
    if not reads_as_rule(rule.text) or not says_how_to_work(rule.text):
        return "its words do not say how to work"
    return ""


def _tasks(rule: StandingRule, by_id: dict[int, KnownSession]) -> int:
    """In how many tasks it was said: what was said on one day, or on one branch, is of one task."""
    tasks: list[set[str]] = []
    for statement in rule.evidence:
        marks = {(iso(statement.at) or "")[:10]}
        branch = by_id[statement.session].branch or ""
        if branch and branch.lower() not in _TRUNKS:
            marks.add(branch)
        same = [task for task in tasks if not task.isdisjoint(marks)]
        tasks = [task for task in tasks if task.isdisjoint(marks)] + [marks.union(*same)]
    return min(len(tasks), rule.sessions)


def _statement(rule: StandingRule, by_id: dict[int, KnownSession], note: str) -> Statement:
    quote = " ".join(rule.text.split())[:_QUOTE_CHARS]
    # A quote that points at its moment only misleads; the name of the wish says enough.
    telling = reads_as_rule(rule.text) and illustrates(rule.text)
    quoted = f'"{quote}"' if not rule.intent or telling else ""
    wish = ": ".join(part for part in (rule.intent, quoted) if part)
    often = "1 session" if rule.sessions == 1 else f"{rule.sessions} sessions, last"
    newest_first = rule.evidence[::-1]
    threads = dict.fromkeys(by_id[said.session].thread for said in newest_first)
    return Statement(
        f"{wish}; said in {often} {(iso(rule.last_at) or '-')[:10]}",
        tuple(threads),
        tuple(by_id[said.session].event(said.seq) for said in newest_first[:2]),
        at=rule.last_at or 0,
        note=note,
        key=f"wish {rule.intent or rule.evidence[0].text.casefold()}",
    )
