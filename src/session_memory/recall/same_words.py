"""When two observations say the same, and what other forms of a word begin with."""

from __future__ import annotations

import hashlib
import re

from session_memory.core.schema import Observation

STEM_CHARS = 4
_ENDINGS = ("ations", "ation", "ings", "ing", "ions", "ion", "ies", "ed", "es", "ly", "s", "e")
_VOLATILE = re.compile(
    r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{12,64}\b"
    r"|\b\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:z|[+-]\d\d:?\d\d)?)?"
)


def stem(word: str) -> str:
    """What other forms of the word begin with too; never so short that it matches too much."""
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= STEM_CHARS:
            return word[: -len(ending)]
    return word


def fingerprint(observation: Observation) -> str:
    """Equal for the same thing said at different times: ids and times in the text do not count."""
    text = _VOLATILE.sub(" ", observation.text.casefold().replace("\\", "/"))
    content = "\n".join((observation.type, observation.status, " ".join(text.split())))
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()
