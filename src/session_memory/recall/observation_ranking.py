"""How a search ranks observations: by their words, open work first.

Observations are short and few compared with events, so they have no index of their own: the store
returns those that contain the stem of any word, and they are ranked here.
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
PRECEDENCE = {kind: rank for rank, kinds in enumerate(_ORDER) for kind in kinds}
_WORD = re.compile(r"[^\W_]+")
_ENDINGS = ("ations", "ation", "ings", "ing", "ions", "ion", "ies", "ed", "es", "ly", "s", "e")
_VOLATILE = re.compile(
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{12,64}\b"
    r"|\b\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:z|[+-]\d\d:?\d\d)?)?"
)


class RankedObservation(msgspec.Struct, frozen=True):
    """The best of several observations that say the same."""

    best: Observation
    same: tuple[Observation, ...]
    """All of them, oldest first."""


def stem(word: str) -> str:
    """What other forms of the word begin with too; never so short that it matches too much."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= STEM_CHARS:
            return word[: -len(ending)]
    return word


def rank(observations: Sequence[Observation], words: Sequence[str]) -> list[Observation]:
    """Best first: more of the query's words, then type, then score, then the later (SRC-07)."""
    stems = tuple(dict.fromkeys(stem(word) for word in words))
    matches = [(observation, _stems_in(observation.text, stems)) for observation in observations]
    matches = [(observation, matched) for observation, matched in matches if matched]
    counts = {word: sum(word in matched for _, matched in matches) for word in stems}
    weight = {word: math.log(1 + len(matches) / count) for word, count in counts.items() if count}
    # Where one observation matches every word, those that match less than half are noise.
    best = max((len(matched) for _, matched in matches), default=0)
    relevant = [match for match in matches if len(match[1]) * 2 > best or len(match[1]) == best]

    def order(match: tuple[Observation, frozenset[str]]) -> tuple[float, ...]:
        observation, matched = match
        return (
            -len(matched),
            PRECEDENCE[observation.type],
            -score(observation.text, matched, weight),
            -(observation.at or 0),
        )

    return [observation for observation, _ in sorted(relevant, key=order)]


def score(text: str, matched: frozenset[str], weight: dict[str, float]) -> float:
    """Rare words count more, and the same words more in a short text."""
    length = len(_WORD.findall(text))
    return sum(weight[word] for word in matched) / (1 + length / 40)


def _stems_in(text: str, stems: Sequence[str]) -> frozenset[str]:
    words = _WORD.findall(text.lower())
    return frozenset(each for each in stems if any(word.startswith(each) for word in words))


def collapse(ranked: Sequence[Observation]) -> list[RankedObservation]:
    """One for each meaning, in order of the best of them (SRC-03, SRC-04)."""
    groups: dict[str, list[Observation]] = {}
    for observation in ranked:
        groups.setdefault(fingerprint(observation), []).append(observation)
    return [
        RankedObservation(same[0], tuple(sorted(same, key=lambda each: (each.at or 0, each.hash))))
        for same in groups.values()
    ]


def fingerprint(observation: Observation) -> str:
    """Equal for the same thing said at different times: ids and times in the text do not count."""
    text = _VOLATILE.sub(" ", observation.text.casefold().replace("\\", "/"))
    content = "\n".join((observation.type, observation.status, " ".join(text.split())))
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
