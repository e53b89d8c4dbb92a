"""Candidates for people: one paragraph each, the rule first, then what it rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

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
_NAMES = {"claude": "Claude", "codex": "Codex", "grok": "Grok", "opencode": "OpenCode"}


def report(candidates: Sequence[Candidate]) -> str:
    """The whole report; nothing in it drives a terminal."""
    if not candidates:
        return "Nothing to write down."
    return "\n\n".join(_paragraph(at, one) for at, one in enumerate(candidates, 1))


def left_out(candidates: Sequence[Candidate]) -> str:
    """How many candidates are no rules, by reason."""
    reasons = Counter(one.left_out for one in candidates if one.left_out)
    counted = ", ".join(f"{count} ({reason})" for reason, count in reasons.most_common())
    return f"Left out: {counted}"


def _paragraph(number: int, one: Candidate) -> str:
    marker = f" {MARKER}" if one.cross_flavor else ""
    status = "" if one.status == "candidate" else f" ({one.status})"
    named = f"{_TITLES[one.type]}: {excerpt(one_line(one.locus), _LOCUS_CHARS)}"
    is_rule = bool(one.rule) and not one.left_out
    head = excerpt(one_line(one.rule), _RULE_CHARS) if is_rule else named
    lines = [f"{number:>3}. {head}{marker}{status}"]
    reason = f"sure: {one.sure}" if is_rule else f"left out: {one.left_out}"
    lines.append(f"     {reason}")
    lines.append(f"     {one.kind} {one.id} · {_facts(one)}")
    if is_rule and one.type not in ("stated_rule", "verified_recipe"):
        lines.append(f"     {named}")
    if one.about:
        lines.append(f"     after: {excerpt(one_line(one.about), _LOCUS_CHARS)}")
    if not is_rule:
        lines += [f"     cured by: {cure_sentence(cure)}" for cure in one.cures[:2]]
    for quote in one.quotes[: 3 if one.type == "stated_rule" else 2]:
        said = excerpt(one_line(quote.text), _QUOTE_CHARS)
        where = quote.session[:8] + (f"#{quote.event}" if quote.event is not None else "")
        day = (iso(quote.at) or "")[:10]
        lines.append(f'       "{said}" {one_line(quote.flavor)} {one_line(where)} {day}'.rstrip())
    return "\n".join(lines)


def cure_sentence(cure: Cure) -> str:
    """`npm ci` worked in 7 of 8 sessions, in Claude and Codex."""
    plural = "session" if cure.tried == 1 else "sessions"
    shown = excerpt(one_line(cure.command), _LOCUS_CHARS)
    return f"`{shown}` worked in {cure.worked} of {cure.tried} {plural}, in {agents(cure.flavors)}"


def agents(flavors: Sequence[str]) -> str:
    """Their names as one would say them: Claude, Codex and Grok."""
    names = [_NAMES.get(flavor, one_line(flavor)) for flavor in flavors]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _facts(one: Candidate) -> str:
    times = f"{one.frequency} time{'s' * (one.frequency != 1)}"
    sessions = f"{one.sessions} session{'s' * (one.sessions != 1)}"
    parts = [f"{times} in {sessions}", cost_text(one), ", ".join(map(one_line, one.flavors))]
    if one.repos:
        shown = [one_line(repo) for repo in list(one.repos)[:3]]
        more = f" +{len(one.repos) - 3}" if len(one.repos) > 3 else ""
        parts.append(", ".join(shown) + more)
    first, last = (iso(one.first_seen) or "-")[:10], (iso(one.last_seen) or "-")[:10]
    parts.append(first if first == last else f"{first} to {last}")
    return " · ".join(parts)


def cost_text(one: Candidate) -> str:
    """Dollars, where a price is known, and minutes."""
    minutes = f"{one.minutes:.0f} min" if one.minutes >= 1 else "under a minute"
    return minutes if one.usd is None else f"${one.usd:.2f}, {minutes}"
