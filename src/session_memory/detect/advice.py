"""Which candidates one would write down as rules, and why the others are left out.

Better silent than wrong: a candidate without a rule that can be read aloud is no advice, however
often it recurs, and of several candidates for one cause only one is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import log2

from msgspec.structs import replace

from session_memory.clock import iso
from session_memory.core.loop.patterns import Candidate, SignalType
from session_memory.distil.checks import check_of

LEAST_SESSIONS = 2
_MONTH_MS = 30 * 86_400_000
ONE_SESSION = "seen in one session only"
_WITH_CURE = "told with its cure"
_WITH_PROBLEM = "told with its problem"
_OTHER_CHECK = "another check of its kind is told"
_MOVED_ON = "not met any more: the project moved on"
_QUIET_SESSIONS = 10
_QUIET_SHARE = 5
_NO_RULE: dict[SignalType, str] = {
    "stated_rule": "said once, taken back, or no rule by itself",
    "notice": "ordinary",
    "failing_command": "its failures have no cure in common",
    "recurring_error": "no cure is known",
    "edit_churn": "only a count",
    "retry_loop": "only a count",
    "user_correction": "about one piece of work",
    "denied_permission": "the user decides that each time",
    "wrong_directory": "no cure is known",
    "missing_tool": "no cure is known",
    "long_search": "only a count",
    "context_thrash": "only a count",
    "expensive_stretch": "only a count",
    "cure": "helped on one occasion, or every agent finds it by itself",
    "verified_recipe": "no check of a whole project",
    "fast_path": "only a list of commands",
}
_ORDER: tuple[SignalType, ...] = ("stated_rule", "cure", "verified_recipe")


def advise(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The candidates with what each rule rests on, or why it is none."""
    found = list(candidates)
    ruled = {one.locus for one in found if one.kind == "problem" and one.rule}
    cured = {locus for one in found if one.type == "cure" and one.rule for locus in one.problems}
    met = {one.locus: one for one in found if one.kind == "problem"}
    best = _best_checks(found)
    return [_advised(one, _reason(one, ruled, cured, best), met) for one in found]


def _advised(one: Candidate, reason: str, met: Mapping[str, Candidate]) -> Candidate:
    return replace(one, left_out=reason, sure="" if reason else _sure(one, met))


def _reason(
    one: Candidate, ruled: set[str], cured: set[str], best: Mapping[tuple[str, ...], str]
) -> str:
    if not one.rule:
        if one.kind == "problem" and one.locus in cured:
            return _WITH_CURE
        return _NO_RULE["cure" if one.cures else one.type]
    if one.sessions < LEAST_SESSIONS:
        return ONE_SESSION
    if one.type == "cure" and (one.locus in ruled or ruled.issuperset(one.problems)):
        return _WITH_PROBLEM
    if one.type != "stated_rule" and _is_past(one):
        return _MOVED_ON
    is_check = one.type == "verified_recipe"
    if is_check and not any(best.get(key) == one.id for key in _uses(one)):
        return _OTHER_CHECK
    return ""


def _is_past(one: Candidate) -> bool:
    """Whether many sessions went by without it; what users want holds until they take it back."""
    return one.sessions_since >= max(_QUIET_SESSIONS, _QUIET_SHARE * one.sessions)


def _sure(one: Candidate, met: Mapping[str, Candidate]) -> str:
    sessions = f"{one.sessions} sessions"
    match one.type:
        case "stated_rule":
            last = (iso(one.last_seen) or "")[:10]
            return f"the user said so in {sessions}, last on {last}"
        case "cure":
            problems = [met[name] for name in one.problems if name in met]
            most = max((_sessions_there(each, one) for each in problems), default=0)
            return f"worked in {one.sessions} of {max(one.sessions, most)} sessions that met it"
        case "verified_recipe":
            return f"passed in {sessions} that went well"
        case _:
            return f"met in {sessions}"


def _sessions_there(problem: Candidate, cure: Candidate) -> int:
    """Sessions with the problem in the projects of its cure: elsewhere it may be another one."""
    return sum(problem.repos.get(repo, 0) for repo in cure.repos)


def _best_checks(candidates: Sequence[Candidate]) -> dict[tuple[str, ...], str]:
    """For every project, directory and kind of check, the one that most sessions pass of late."""
    checks = [one for one in candidates if one.type == "verified_recipe" and one.rule]
    # Without a directory it is the same check, run by a shell that was there already.
    placed = {(repo, _parts(one)[0]) for one in checks if _parts(one)[1] for repo in one.repos}
    best: dict[tuple[str, ...], tuple[float, str]] = {}
    for one in checks:
        command, place = _parts(one)
        for key, sessions in _uses(one).items():
            if not place and (key[0], command) in placed:
                continue
            # Half as much for every month, whenever that is asked: projects change their tools.
            weight = log2(sessions) + (one.last_seen or 0) / _MONTH_MS
            best[key] = max(best.get(key, (-1.0, "")), (weight, one.id))
    return {key: name for key, (_, name) in best.items()}


def _uses(check: Candidate) -> dict[tuple[str, ...], int]:
    """(project, directory, kind) to the sessions that passed it there."""
    command, place = _parts(check)
    known = check_of(command)
    kind = known.kinds[0] if known else ""
    return {(repo, place, kind): sessions for repo, sessions in check.repos.items()}


def _parts(check: Candidate) -> tuple[str, str]:
    """The command of a check and its directory, '' where it has none."""
    command, _, place = check.locus.partition(" in ")
    return command, place


def order(one: Candidate) -> tuple[bool, bool, int, float, str]:
    """Across agents first, then rules: the users' own, what saves trouble, how to verify."""
    place = _ORDER.index(one.type) if one.type in _ORDER else 1
    return not one.cross_flavor, bool(one.left_out), place, -one.value, one.id
