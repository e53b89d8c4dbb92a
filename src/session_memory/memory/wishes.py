"""What the user wants in a project, by the rules in its digests: quoted, with how often.

A wish that was voiced in one session, or on one day, is mostly about its task. It is told only if
its own words say that it is meant to last.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from session_memory.clock import iso
from session_memory.core.forget import FORGOTTEN
from session_memory.distil.lasting import is_meant_to_last, points_at_its_moment
from session_memory.distil.rule_wording import reads_as_rule
from session_memory.distil.rules import StandingRule, standing_rules
from session_memory.memory.known_session import KnownSession
from session_memory.memory.statements import Statement

MAX_WISHES = 12
_QUOTE_CHARS = 200


class Wishes(msgspec.Struct, frozen=True):
    """The wishes to tell, and the others with the reason."""

    told: tuple[Statement, ...] = ()
    left_out: tuple[Statement, ...] = ()


def find_wishes(sessions: Sequence[KnownSession]) -> Wishes:
    """The user's wishes that stand, those of most sessions first."""
    by_id = {session.id: session for session in sessions}
    told: list[Statement] = []
    left_out: list[Statement] = []
    for rule in standing_rules({s.id: s.digest.rules for s in sessions if s.digest.rules}):
        if FORGOTTEN in rule.text:  # with its point gone, it would only mislead
            continue
        reason = _why_not(rule)
        if not reason and len(told) >= MAX_WISHES:
            reason = "others were voiced more often"
        (left_out if reason else told).append(_statement(rule, by_id, reason))
    return Wishes(tuple(told), tuple(left_out))


def _why_not(rule: StandingRule) -> str:
    days = {(iso(said.at) or "")[:10] for said in rule.evidence}
    if rule.sure == "repeated" and len(days) == 1 and not is_meant_to_last(rule.text):
        return "said on one day only, so that it may be about one task"
    if rule.sure == "repeated":
        return "" if rule.intent or reads_as_rule(rule.text) else "its words do not say what to do"
    if not is_meant_to_last(rule.text):
        return "said once, and nothing says that it is meant to last"
    return ""


def _statement(rule: StandingRule, by_id: dict[int, KnownSession], note: str) -> Statement:
    quote = " ".join(rule.text.split())[:_QUOTE_CHARS]
    # A quote that points at its moment only misleads; the name of the wish says enough.
    telling = reads_as_rule(rule.text) and not points_at_its_moment(rule.text)
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
