"""Which candidates are worth writing down as rules, and why the others are left out.

Better silent than wrong: a candidate without a rule that can be read aloud is no advice, however
often it recurs, and of several candidates for one cause only one is shown.
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
_WITH_CURE = "listed with its cure"
_WITH_PROBLEM = "listed with its problem"
_OTHER_CHECK = "another check of its kind is listed"
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
    """The candidates with what each rule rests on, or why there is no rule."""
    all_candidates = list(candidates)
    ruled = {
        candidate.locus
        for candidate in all_candidates
        if candidate.kind == "problem" and candidate.rule
    }
    cured = {
        locus
        for candidate in all_candidates
        if candidate.type == "cure" and candidate.rule
        for locus in candidate.problems
    }
    met = {
        candidate.locus: candidate for candidate in all_candidates if candidate.kind == "problem"
    }
    best = _best_checks(all_candidates)
    return [
        _advised(candidate, _reason(candidate, ruled, cured, best), met)
        for candidate in all_candidates
    ]


def _advised(candidate: Candidate, reason: str, met: Mapping[str, Candidate]) -> Candidate:
    return replace(candidate, left_out=reason, sure="" if reason else _sure(candidate, met))


def _reason(candidate: Candidate, ruled: set[str], cured: set[str], best: frozenset[str]) -> str:
    if not candidate.rule:
        if candidate.kind == "problem" and candidate.locus in cured:
            return _WITH_CURE
        return _NO_RULE["cure" if candidate.cures else candidate.type]
    if candidate.sessions < LEAST_SESSIONS:
        return ONE_SESSION
    if candidate.type == "cure" and (
        candidate.locus in ruled or ruled.issuperset(candidate.problems)
    ):
        return _WITH_PROBLEM
    if candidate.type != "stated_rule" and _is_past(candidate):
        return _MOVED_ON
    if candidate.type == "verified_recipe" and candidate.id not in best:
        return _OTHER_CHECK
    return ""


def _is_past(candidate: Candidate) -> bool:
    """Whether many sessions since did not show it; what users want holds until they revoke it."""
    return candidate.sessions_since >= max(_QUIET_SESSIONS, _QUIET_SHARE * candidate.sessions)


def _sure(candidate: Candidate, met: Mapping[str, Candidate]) -> str:
    sessions = f"{candidate.sessions} sessions"
    match candidate.type:
        case "stated_rule":
            last = (iso(candidate.last_seen) or "")[:10]
            return f"the user said so in {sessions}, last on {last}"
        case "cure":
            problems = [met[name] for name in candidate.problems if name in met]
            most = max((_sessions_there(each, candidate) for each in problems), default=0)
            met_in = max(candidate.sessions, most)
            return f"worked in {candidate.sessions} of {met_in} sessions that met it"
        case "verified_recipe":
            return f"passed in {sessions} that went well"
        case _:
            return f"met in {sessions}"


def _sessions_there(problem: Candidate, cure: Candidate) -> int:
    """Sessions with the problem in the projects of its cure: elsewhere it may be another one."""
    return sum(problem.repos.get(repo, 0) for repo in cure.repos)


def _best_checks(candidates: Sequence[Candidate]) -> frozenset[str]:
    """Ids: for every project, directory and kind of check, what most sessions pass of late."""
    checks = [check for check in candidates if check.type == "verified_recipe" and check.rule]
    # Without a directory it is the same check, run by a shell that was there already.
    placed = {
        (repo, _parts(check)[0]) for check in checks if _parts(check)[1] for repo in check.repos
    }
    best: dict[tuple[str, ...], tuple[float, str]] = {}
    for check in checks:
        command, directory = _parts(check)
        for key, sessions in _uses(check).items():
            if not directory and (key[0], command) in placed:
                continue
            # The weight halves every month, whatever the current date: projects change their tools.
            weight = log2(sessions) + (check.last_seen or 0) / _MONTH_MS
            best[key] = max(best.get(key, (-1.0, "")), (weight, check.id))
    return frozenset(name for _, name in best.values())


def _uses(check: Candidate) -> dict[tuple[str, ...], int]:
    """(project, directory, kind) to the sessions that passed it there."""
    command, directory = _parts(check)
    parsed = check_of(command)
    kind = parsed.kinds[0] if parsed else ""
    return {(repo, directory, kind): sessions for repo, sessions in check.repos.items()}


def _parts(check: Candidate) -> tuple[str, str]:
    """The command of a check and its directory, '' where it has none."""
    command, _, directory = check.locus.partition(" in ")
    return command, directory


def order(candidate: Candidate) -> tuple[bool, bool, int, float, str]:
    """Across agents first, then rules: the users' own, what saves trouble, how to verify."""
    rank = _ORDER.index(candidate.type) if candidate.type in _ORDER else 1
    return (
        not candidate.cross_flavor,
        bool(candidate.left_out),
        rank,
        -candidate.value,
        candidate.id,
    )
