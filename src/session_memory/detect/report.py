"""Candidates for people: one paragraph each, the most worthwhile first."""

from __future__ import annotations

from collections.abc import Sequence

from session_memory.clock import iso
from session_memory.core.loop.patterns import Candidate, Cure, SignalType
from session_memory.core.text.masks import excerpt
from session_memory.core.text.safe_text import one_line
from session_memory.detect.rank import cure_of

MARKER = "[CROSS-FLAVOR]"
_QUOTE_CHARS = 100
_LOCUS_CHARS = 110
_TITLES: dict[SignalType, str] = {
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
        return "Nothing recurs."
    return "\n\n".join(_paragraph(at, one) for at, one in enumerate(candidates, 1))


def _paragraph(number: int, one: Candidate) -> str:
    marker = f" {MARKER}" if one.cross_flavor else ""
    status = "" if one.status == "candidate" else f" ({one.status})"
    locus = excerpt(one_line(one.locus), _LOCUS_CHARS)
    lines = [
        f"{number:>3}. {_TITLES[one.type]}: {locus}{marker}{status}",
        f"     {one.kind} {one.id} · {_facts(one)}",
    ]
    if one.about:
        lines.append(f"     after: {excerpt(one_line(one.about), _LOCUS_CHARS)}")
        lines.append(f"     {cure_sentence(cure_of(one))}")
    lines += [f"     cured by: {cure_sentence(cure)}" for cure in one.cures[:2]]
    for quote in one.quotes[:2]:
        said = excerpt(one_line(quote.text), _QUOTE_CHARS)
        where = quote.session[:8] + (f"#{quote.event}" if quote.event is not None else "")
        lines.append(f'       "{said}" {one_line(quote.flavor)} {one_line(where)}')
    return "\n".join(lines)


def cure_sentence(cure: Cure) -> str:
    """`npm ci` worked in 7 of 8 sessions, in Claude and Codex."""
    names = [_NAMES.get(flavor, one_line(flavor)) for flavor in cure.flavors]
    agents = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    plural = "session" if cure.tried == 1 else "sessions"
    shown = excerpt(one_line(cure.command), _LOCUS_CHARS)
    return f"`{shown}` worked in {cure.worked} of {cure.tried} {plural}, in {agents}"


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
