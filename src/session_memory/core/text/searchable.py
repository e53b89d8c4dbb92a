"""How a text is written into a full-text index, so that parts of it are found, too.

The indexes split text at everything that is no letter or digit. That takes `snake_case`, paths,
flags and versions apart, but neither `CamelCase` nor scripts without blanks between words. So the
inner words of such names are added once (their first word is a prefix, which search tries where
nothing else fits), and runs of those scripts become pairs of characters.
"""

from __future__ import annotations

import re
from functools import cache

from session_memory.regex_cache import compiled

_INNER = compiled(r"[A-Z](?<=[a-z0-9][A-Z])[a-z]+")
"""A word inside a name. Every text of a sweep goes through this: a pattern for whole names takes
five times as long, and one that begins with the lookbehind three times."""
_NO_BLANKS = (
    "["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u3040-\u30ff\u31f0-\u31ff"  # Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uac00-\ud7a3"  # Hangul: has blanks, but also endings that are not split off
    "]{2,}"
)
_MAY_BE_ONE = compiled(rb"[\xe0\xe1\xe3-\xed\xef\xf0]")
"""A first byte of such a character in UTF-8. Most texts that are not ASCII have only dashes, arrows
or letters with accents, which this finds out in half the time."""


def searchable(text: str) -> str:
    """The text with pairs of characters for scripts without blanks, and inner words of names."""
    if not text.isascii():
        text = pairs(text)
    inner = _INNER.findall(text)
    if not inner:
        return text
    return f"{text}\n{' '.join(dict.fromkeys(inner))}"


def pairs(text: str) -> str:
    """Runs of scripts without blanks as overlapping pairs of characters."""
    if not _MAY_BE_ONE.search(text.encode("utf-8", "surrogatepass")):
        return text
    return _no_blanks().sub(_paired, text)


@cache  # compiling it takes 2 ms, which a command that indexes nothing need not spend
def _no_blanks() -> re.Pattern[str]:
    return compiled(_NO_BLANKS)


def _paired(run: re.Match[str]) -> str:
    found = run[0]
    return " " + " ".join(found[at : at + 2] for at in range(len(found) - 1)) + " "
