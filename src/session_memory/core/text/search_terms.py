"""Which words of a question are looked for: what was typed is text, never query syntax."""

from __future__ import annotations

import msgspec

from session_memory.core.text.searchable import pairs
from session_memory.regex_cache import compiled

MAX_TERMS = 24
"""A pasted page is no better a question than its first words."""
MAX_CHARS = 4_000

_CHUNK = compiled(r"[^\s\"'`(){}\[\]<>,;|]+")
_WORD = compiled(r"[^\W_]+")
_SMALL_WORDS = """
    a about an and any are as at be been by can could did do does for from had has have he her
    him his how i if in into is it its me my of on or our she should so some than that the their
    them then there these they this those to us was we were what when where which who whom whose
    why will with would you your not near
"""
_STOP = frozenset(_SMALL_WORDS.split())


class Terms(msgspec.Struct, frozen=True):
    """A question taken apart: names written as one (paths, identifiers), and single words."""

    names: tuple[str, ...] = ()
    """Several words in a fixed order, as in `src/app.py` or `max_retries`."""
    words: tuple[str, ...] = ()
    """Every single word, also those that names are made of."""

    def __bool__(self) -> bool:
        return bool(self.words)


def terms_of(question: str) -> Terms:
    """The words that tell something; question words and the like only where there is nothing else.

    Names count as one where every word of a question must be found, and by their words where any
    may: half of a path is a clue, too.
    """
    names: dict[str, None] = {}
    words: dict[str, None] = {}
    for chunk in _CHUNK.findall(pairs(question[:MAX_CHARS]).lower()):
        parts = _WORD.findall(chunk)
        # `src/app.py` and `v1.2.3` are names, `don't` and `e.g.` are not.
        is_name = all(len(part) > 1 for part in parts) or any(part.isdigit() for part in parts)
        if len(parts) > 1 and is_name:
            names[" ".join(parts)] = None
        words.update(dict.fromkeys(parts))
    telling = [word for word in words if word not in _STOP] or list(words)
    return Terms(tuple(names)[:MAX_TERMS], tuple(telling[:MAX_TERMS]))
