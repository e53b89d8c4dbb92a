"""How a question finds observations: by their words, the operational ones first.

Observations are short and few beside events, so they have no index of their own: the store gives
those that hold a stem of any word, and they are ranked here.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence

import msgspec

from session_memory.core.schema import Observation, ObservationType

STEM_CHARS = 4
_ORDER: tuple[tuple[ObservationType, ...], ...] = (
    ("pending_item",),
    ("blocker",),
    ("project_dod", "mission_dod", "session_dod"),
    ("objective", "constraint", "user_request"),
    ("decision",),
    ("completed_item",),
    ("completion_claim",),
    ("session_summary",),
)
PRECEDENCE = {kind: place for place, kinds in enumerate(_ORDER) for kind in kinds}
_WORD = re.compile(r"[^\W_]+")
_ENDINGS = ("ations", "ation", "ings", "ing", "ions", "ion", "ies", "ed", "es", "ly", "s", "e")
_VOLATILE = re.compile(
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{12,64}\b"
    r"|\b\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:z|[+-]\d\d:?\d\d)?)?"
)


class Ranked(msgspec.Struct, frozen=True):
    """An observation that matched, with all that say the same."""

    one: Observation
    same: tuple[Observation, ...]
    """Itself included, oldest first."""


def stem(word: str) -> str:
    """A beginning that other forms of the word share; rough, as a stem too short finds too much."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= STEM_CHARS:
            return word[: -len(ending)]
    return word


def rank(found: Sequence[Observation], words: Sequence[str]) -> list[Observation]:
    """Best first: more of the question's words, then type, then score, then the later (SRC-07)."""
    stems = tuple(dict.fromkeys(stem(word) for word in words))
    matched = [(one, _held(one.text, stems)) for one in found]
    matched = [(one, held) for one, held in matched if held]
    common = {word: sum(word in held for _, held in matched) for word in stems}
    weight = {word: math.log(1 + len(matched) / count) for word, count in common.items() if count}
    # Where one holds every word, those that hold a part of them are no answer to the same question.
    best = max((len(held) for _, held in matched), default=0)
    kept = [(one, held) for one, held in matched if len(held) * 2 > best or len(held) == best]

    def order(pair: tuple[Observation, frozenset[str]]) -> tuple[float, ...]:
        one, held = pair
        return (-len(held), PRECEDENCE[one.type], -score(one.text, held, weight), -(one.at or 0))

    return [one for one, _ in sorted(kept, key=order)]


def score(text: str, held: frozenset[str], weight: dict[str, float]) -> float:
    """Rare words count more, and the same words more in a short text."""
    length = len(_WORD.findall(text))
    return sum(weight[word] for word in held) / (1 + length / 40)


def _held(text: str, stems: Sequence[str]) -> frozenset[str]:
    words = _WORD.findall(text.lower())
    return frozenset(one for one in stems if any(word.startswith(one) for word in words))


def collapse(ranked: Sequence[Observation]) -> list[Ranked]:
    """One for each meaning, in order of the best of them (SRC-03, SRC-04)."""
    groups: dict[str, list[Observation]] = {}
    for one in ranked:
        groups.setdefault(fingerprint(one), []).append(one)
    return [
        Ranked(same[0], tuple(sorted(same, key=lambda one: (one.at or 0, one.hash))))
        for same in groups.values()
    ]


def fingerprint(one: Observation) -> str:
    """Equal for the same thing said at other times: ids and times in it do not count."""
    text = _VOLATILE.sub(" ", one.text.casefold().replace("\\", "/"))
    said = "\n".join((one.type, one.status, " ".join(text.split())))
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()
