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

_SMALL, _LARGE = b"abcdefghijklmnopqrstuvwxyz", b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LEADS = bytes((0xE0, 0xE1, *range(0xE3, 0xEE)))
"""First bytes in UTF-8 of the scripts without blanks, save those of `_RARE`. Most texts that are
not ASCII have only dashes, arrows, signs or letters with accents, which have others."""
_RARE = (compiled(rb"\xef[\xa4-\xab]"), compiled(rb"\xf0[\xa0-\xbf]"))
_LEAD = b"\xff"  # stands for each of them: no UTF-8 has this byte
_SHAPE = bytes.maketrans(
    _SMALL + _LARGE + b"0123456789" + _LEADS,
    b"a" * 26 + b"A" * 26 + b"1" * 10 + _LEAD * len(_LEADS),
)
"""Makes all letters of a kind one letter."""
_INNER = compiled(rb"A(?<=[a1]A)a+")
"""A word inside a name, by kinds of letters. Every text of a sweep goes through this, and the
matcher finds one certain byte much faster than one of many."""
_NO_BLANKS = (
    "["
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u3040-\u30ff\u31f0-\u31ff"  # Hiragana, Katakana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Han
    "\uac00-\ud7a3"  # Hangul: has blanks, but also endings that are not split off
    "]{2,}"
)


def searchable(text: str) -> str:
    """The text with pairs of characters for scripts without blanks, and inner words of names."""
    data = text.encode("utf-8", "surrogatepass")
    shape = data.translate(_SHAPE)
    if len(data) > len(text) and _has_no_blanks(data, shape):
        text = _no_blanks().sub(_paired, text)
        data = text.encode("utf-8", "surrogatepass")
        shape = data.translate(_SHAPE)
    inner: dict[bytes, None] = {}
    for found in _INNER.finditer(shape):
        start, end = found.span()
        inner[data[start:end]] = None
    return f"{text}\n{b' '.join(inner).decode()}" if inner else text


def pairs(text: str) -> str:
    """Runs of scripts without blanks as overlapping pairs of characters."""
    data = text.encode("utf-8", "surrogatepass")
    return _no_blanks().sub(_paired, text) if _has_no_blanks(data, data.translate(_SHAPE)) else text


def _has_no_blanks(data: bytes, shape: bytes) -> bool:
    """Whether a text may have a character of the scripts without blanks."""
    return _LEAD in shape or any(rare.search(data) for rare in _RARE)


@cache  # compiling it takes 2 ms, which a command that indexes nothing need not spend
def _no_blanks() -> re.Pattern[str]:
    return compiled(_NO_BLANKS)


def _paired(run: re.Match[str]) -> str:
    found = run[0]
    return " " + " ".join(found[at : at + 2] for at in range(len(found) - 1)) + " "
