"""Lines that say what they are: `Decision: ...`, `Pending: a; Blocker: b`, `Remaining:` and a list.

Both sides of a turn write them; the word before the colon gives the type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from session_memory.core.schema import ObservationType
from session_memory.core.text.masks import window
from session_memory.distil.colons import before_colons
from session_memory.distil.sentences import first_sentence, plain
from session_memory.regex_cache import compiled

_LABELS: dict[ObservationType, str] = {
    "decision": r"decisions?|decided",
    "objective": r"objectives?|goals?|target|mission",
    "constraint": r"constraints?|restrictions?|rules?",
    "project_dod": r"project[ -](?:dod|definition of done)",
    "mission_dod": r"mission[ -](?:dod|definition of done)",
    "session_dod": r"session[ -](?:dod|definition of done)",
    "pending_item": r"pending|to-?do|remaining|open items?|still open|not done|follow-?ups?",
    "completed_item": r"done|completed|finished|unblocked|resolved",
    "blocker": r"blockers?|blocked(?: by| on)?|risks?",
}
_NAMED = "|".join(f"(?P<{kind}>{words})" for kind, words in _LABELS.items())
_LABEL = rf"(?:(?P<completion_claim>status)(?=[*_ ]{{0,4}}:[*_ ]{{0,4}}{{finished}})|{_NAMED})"
_FINISHED = r"(?:done|complete|completed|finished)\b"
_OPENING = r"(?:[ \t>#•✅☑⚠️🚧❌*_+-]|\d{1,2}[.)][ \t]|\[[ xX]\][ \t]){0,10}"
_COLON = r"[*_ ]{0,4}[:：][*_ \t]{0,4}"
_AT_LINE = compiled(
    rf"^{_OPENING}{_LABEL.replace('{finished}', _FINISHED)}{_COLON}(?P<value>[^\n]*)$", re.I | re.M
)
# A cheap look first: few colons stand behind the last letters of a label, near a line's start.
_NEAR = range(3, 51)
_ENDINGS = frozenset(
    name[-3:]
    for name in (
        *("decision", "decisions", "decided", "objective", "objectives", "goal", "goals"),
        *("target", "mission", "constraint", "constraints", "restriction", "restrictions"),
        *("rule", "rules", "dod", "definition of done", "pending", "todo", "to-do", "remaining"),
        *("open item", "open items", "still open", "not done", "followup", "follow-up"),
        *("followups", "follow-ups", "done", "completed", "finished", "unblocked", "resolved"),
        *("blocker", "blockers", "blocked", "blocked by", "blocked on", "risk", "risks", "status"),
    )
)
# Inside a line a label only follows the end of something else.
_INLINE = compiled(
    rf"(?:[;；]|(?<=[.!?]))[ \t]*[*_]{{0,2}}{_LABEL.replace('{finished}', _FINISHED)}{_COLON}", re.I
)
_ITEM = compiled(r"^[ \t]{0,12}(?:[-*+•]|\d{1,2}[.)])[ \t]+(?:\[(?P<box>[ xX])\][ \t]+)?(.+)$")
_FENCE = compiled(r"^[ \t]*(```|~~~)[^\n]*(?:\n(?![ \t]*\1)[^\n]*)*(?:\n[ \t]*\1)?", re.M)
_LISTED = frozenset(
    ("decision", "constraint", "pending_item", "completed_item", "blocker", "session_dod")
)
_MAX_ITEMS = 12
_MAX_CHARS = 500
_WORD = compiled(r"[^\W_]")
_NOTHING = compiled(
    r"(?:none|nothing|n/?a|no|yes|true|false|tbd|all|-+)\b[^\w]*$|[^.]{1,60} vs\.? [^.]{1,60}$",
    re.I,
)


class Labelled(msgspec.Struct, frozen=True):
    """One labelled statement."""

    type: ObservationType
    text: str


def labelled(text: str) -> list[Labelled]:
    """All labelled statements of a text, in order."""
    if _ENDINGS.isdisjoint(before_colons(text)):
        return []  # as in nearly every text
    seen = window(text)
    if "```" in seen or "~~~" in seen:
        seen = _FENCE.sub("", seen)
    statements: list[Labelled] = []
    for start in _candidates(seen):
        match = _AT_LINE.match(seen, start)
        if match is None:
            continue
        kind = _type(match)
        if kind == "completion_claim":
            statements.append(Labelled(kind, f"Status: {first_sentence(plain(match['value']))}"))
        elif match["value"].strip(" \t*_"):
            statements.extend(_split(kind, match["value"]))
        elif kind in _LISTED:
            statements.extend(Labelled(kind, item) for item in _list_below(seen, match.end()))
    return statements


def _candidates(text: str) -> Iterator[int]:
    """Where lines begin whose first colon stands behind what may be a label."""
    plain = text.replace("：", ":")
    for colon in _labelling_colons(plain):
        start = plain.rfind("\n", 0, colon) + 1
        if colon - start in _NEAR and plain.find(":", start) == colon:
            yield start


def _labelling_colons(text: str) -> Iterator[int]:
    """Colons behind the last letters of a label."""
    colon = text.find(":")
    while colon >= 0:
        if text[max(0, colon - 8) : colon].rstrip("*_ ")[-3:].lower() in _ENDINGS:
            yield colon
        colon = text.find(":", colon + 1)


def _type(match: re.Match[str]) -> ObservationType:
    for kind in _LABELS:
        if match[kind]:
            return kind
    return "completion_claim"


def _split(kind: ObservationType, value: str) -> list[Labelled]:
    """A value may hold further labels, and several statements between semicolons."""
    statements: list[Labelled] = []
    start = 0
    for match in (*_INLINE.finditer(value), None):
        part = value[start : match.start() if match else len(value)]
        for piece in re.split(r"[;；](?=\s|$)", part):
            text = _statement(piece)
            if text:
                statements.append(Labelled(kind, text))
        if match is not None:
            kind, start = _type(match), match.end()
    return statements


def _statement(piece: str) -> str:
    text = first_sentence(plain(piece[: _MAX_CHARS * 2]))[:_MAX_CHARS]
    worth = _WORD.search(text) and not _NOTHING.match(text)
    # What ends in a colon announces something that is not on this line.
    return text if worth and not text.endswith((":", "：")) else ""


def _list_below(text: str, start: int) -> list[str]:
    items: list[str] = []
    for line in text[start : start + 4096].splitlines()[1:]:
        match = _ITEM.match(line)
        if match is None:
            if line.strip() or items:
                break
            continue
        item = _statement(match[2])
        if item and (match["box"] or " ") == " ":
            items.append(item)
    return items[:_MAX_ITEMS]
