"""Candidates for people: one paragraph each, the rule first, then what it rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from session_memory.adapters.registry import find_agent
from session_memory.clock import iso
from session_memory.core.loop.patterns import Candidate, Cure, SignalType
from session_memory.core.text.masks import excerpt
from session_memory.core.text.safe_text import one_line

MARKER = "[CROSS-FLAVOR]"
_QUOTE_CHARS = 100
_LOCUS_CHARS = 110
_RULE_CHARS = 320
_TITLES: dict[SignalType, str] = {
    "stated_rule": "the user said",
    "notice": "a host or server said",
    "failing_command": "command keeps failing",
    "recurring_error": "error recurs",
    "edit_churn": "file edited over and over",
    "retry_loop": "same call again and again",
    "user_correction": "user had to correct",
    "denied_permission": "permission denied",
    "wrong_directory": "wrong directory",
    "missing_tool": "tool is missing",
    "long_search": "long search before the first edit",
    "context_thrash": "context compacted again and again",
    "expensive_stretch": "expensive without success",
    "cure": "cure",
    "verified_recipe": "check that passes",
    "fast_path": "fast path",
}


def report(candidates: Sequence[Candidate]) -> str:
    """The whole report; nothing in it drives a terminal."""
    if not candidates:
        return "Nothing to write down."
    return "\n\n".join(_paragraph(at, candidate) for at, candidate in enumerate(candidates, 1))


def left_out(candidates: Sequence[Candidate]) -> str:
    """How many candidates are not rules, by reason."""
    reasons = Counter(candidate.left_out for candidate in candidates if candidate.left_out)
    counted = ", ".join(f"{count} ({reason})" for reason, count in reasons.most_common())
    return f"Left out: {counted}"


def _paragraph(number: int, candidate: Candidate) -> str:
    marker = f" {MARKER}" if candidate.cross_flavor else ""
    status = "" if candidate.status == "candidate" else f" ({candidate.status})"
    named = f"{_TITLES[candidate.type]}: {excerpt(one_line(candidate.locus), _LOCUS_CHARS)}"
    is_rule = bool(candidate.rule) and not candidate.left_out
    head = excerpt(one_line(candidate.rule), _RULE_CHARS) if is_rule else named
    lines = [f"{number:>3}. {head}{marker}{status}"]
    reason = f"sure: {candidate.sure}" if is_rule else f"left out: {candidate.left_out}"
    lines.append(f"     {reason}")
    lines.append(f"     {candidate.kind} {candidate.id} · {_facts(candidate)}")
    if is_rule and candidate.type not in ("stated_rule", "verified_recipe"):
        lines.append(f"     {named}")
    if candidate.about:
        lines.append(f"     after: {excerpt(one_line(candidate.about), _LOCUS_CHARS)}")
    if not is_rule:
        lines += [f"     cured by: {cure_sentence(cure)}" for cure in candidate.cures[:2]]
    for quote in candidate.quotes[: 3 if candidate.type == "stated_rule" else 2]:
        quoted = excerpt(one_line(quote.text), _QUOTE_CHARS)
        where = quote.session[:8] + (f"#{quote.event}" if quote.event is not None else "")
        day = (iso(quote.at) or "")[:10]
        lines.append(f'       "{quoted}" {one_line(quote.flavor)} {one_line(where)} {day}'.rstrip())
    return "\n".join(lines)


def cure_sentence(cure: Cure) -> str:
    """`npm ci` worked in 7 of 8 sessions, in Claude Code and Codex."""
    plural = "session" if cure.tried == 1 else "sessions"
    shown = excerpt(one_line(cure.command), _LOCUS_CHARS)
    return f"`{shown}` worked in {cure.worked} of {cure.tried} {plural}, in {agents(cure.flavors)}"


def agents(flavors: Sequence[str]) -> str:
    """Names of agents as a phrase: Claude Code, Codex and Grok Build."""
    names = [
        agent.title if (agent := find_agent(flavor)) else one_line(flavor) for flavor in flavors
    ]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _facts(candidate: Candidate) -> str:
    times = f"{candidate.frequency} time{'s' * (candidate.frequency != 1)}"
    sessions = f"{candidate.sessions} session{'s' * (candidate.sessions != 1)}"
    parts = [
        f"{times} in {sessions}",
        cost_text(candidate),
        ", ".join(map(one_line, candidate.flavors)),
    ]
    if candidate.repos:
        shown = [one_line(repo) for repo in list(candidate.repos)[:3]]
        more = f" +{len(candidate.repos) - 3}" if len(candidate.repos) > 3 else ""
        parts.append(", ".join(shown) + more)
    first, last = (iso(candidate.first_seen) or "-")[:10], (iso(candidate.last_seen) or "-")[:10]
    parts.append(first if first == last else f"{first} to {last}")
    return " · ".join(parts)


def cost_text(candidate: Candidate) -> str:
    """Dollars, where a price is known, and minutes."""
    minutes = f"{candidate.minutes:.0f} min" if candidate.minutes >= 1 else "under a minute"
    return minutes if candidate.usd is None else f"${candidate.usd:.2f}, {minutes}"
