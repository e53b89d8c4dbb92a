"""What several traces say, said once: newer words win, stronger evidence stays, conflicts show."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from session_memory.core.schema import Outcome
from session_memory.core.text.similarity import Phrase, PhraseIndex, phrase, same_thing
from session_memory.memory.trace_parts import Parts, Said

STRENGTH: dict[Outcome, int] = {"success": 3, "partial": 2, "fail": 1, "uncertain": 0}
"""How much what a task tells is worth: verified success weighs most."""
_AGAINST = re.compile(r"\b(?:not|no|never|don'?t|do not|without|avoid|stop|instead of)\b", re.I)
_EVENTS = 2


class Statement(msgspec.Struct, frozen=True):
    """One thing that is remembered, and the traces it rests on, newest first."""

    text: str
    threads: tuple[str, ...]
    events: tuple[int, ...] = ()
    strength: int = 0
    at: int = 0
    note: str = ""
    """What to verify before relying on it."""


def statement(said: Said, parts: Parts, outcome: Outcome, text: str | None = None) -> Statement:
    """A bullet of one trace."""
    events = said.events[:_EVENTS]
    return Statement(text or said.text, (parts.thread,), events, STRENGTH[outcome], parts.at)


def joined(kept: Statement, other: Statement) -> Statement:
    """Two that mean the same: the words of the newer, the traces of both."""
    newer, older = (kept, other) if kept.at >= other.at else (other, kept)
    return msgspec.structs.replace(
        newer,
        threads=tuple(dict.fromkeys((*newer.threads, *older.threads))),
        events=newer.events or older.events,
        strength=max(newer.strength, older.strength),
    )


def once(found: Iterable[Statement]) -> list[Statement]:
    """Each thing once, newest words first; what contradicts something newer is settled."""
    kept: list[Statement] = []
    for one in sorted(found, key=lambda each: -each.at):
        alike = PhraseIndex(phrase(each.text) for each in kept).alike(phrase(one.text))
        if alike:
            kept[alike[0]] = joined(kept[alike[0]], one)
        else:
            kept.append(one)
    return settled(kept)


def settled(found: Sequence[Statement]) -> list[Statement]:
    """Of two that contradict each other the newer stays; an older one with more behind it too."""
    kept: list[Statement] = []
    for one in found:  # newest first
        against = next((at for at, other in enumerate(kept) if contradict(one, other)), None)
        if against is None:
            kept.append(one)
            continue
        newer = kept[against]
        if one.strength > newer.strength:
            kept[against] = msgspec.structs.replace(newer, note="verify: the next line disagrees")
            note = "verify: older, but with stronger evidence"
            kept.insert(against + 1, msgspec.structs.replace(one, note=note))
    return kept


def contradict(one: Statement, other: Statement) -> bool:
    """Whether two say the same of the same thing, one of them with a no."""
    if bool(_AGAINST.search(one.text)) == bool(_AGAINST.search(other.text)):
        return False
    return same_thing(_affirmed(one.text), _affirmed(other.text))


def _affirmed(text: str) -> Phrase:
    return phrase(_AGAINST.sub(" ", text))


def ranked(found: Iterable[Statement]) -> list[Statement]:
    """Most useful first: what several sessions show, then what is better shown, then newer."""
    return sorted(found, key=lambda one: (-len(one.threads), -one.strength, -one.at, one.text))
