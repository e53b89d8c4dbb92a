"""The request a session was mainly about, where the first one only warms up.

"Learn about this project", "check out main", "what do you think of level 2": many sessions begin
small, and what they are remembered for is asked later.
"""

from __future__ import annotations

import re

from session_memory.core.digest import THEN
from session_memory.core.text.masks import excerpt
from session_memory.distil.prompts import objective_of, read_prompt
from session_memory.distil.substance import asks_for_work, is_question, own_terms
from session_memory.regex_cache import compiled

_FIRST_CHARS = 140
_MAIN_CHARS = 150
_NEW_WORDS = 4
"""A later request has at least this many words of its own that the first one has not."""
_MANY_WORDS = 24  # beyond this a text is a paste or a complaint, not a clearer request
_WISH = compiled(
    r"\b(?:i want|i need|we need|let'?s|can (?:you|we)|could (?:you|we)|please)\b", re.I
)


class MainRequest:
    """Takes in the requests of a session and keeps the one that says most."""

    def __init__(self) -> None:
        self._best: tuple[int, int, str] | None = None

    def add(self, text: str, pos: int) -> None:
        """Take in a request; of equal ones the earlier stays."""
        weight = _weight(text)
        if weight and (self._best is None or (weight, -pos) > (self._best[0], -self._best[1])):
            self._best = (weight, pos, objective_of(text, _MAIN_CHARS))

    def joined_to(self, first: str, first_pos: int) -> str:
        """The first request, followed by the main one where that is another."""
        if self._best is None or self._best[1] <= first_pos:
            return first
        main = self._best[2]
        new = own_terms(main) - own_terms(first)
        if len(new) < _NEW_WORDS:
            return first
        return f"{excerpt(first, _FIRST_CHARS)}{THEN}{main}"


def _weight(text: str) -> int:
    """How much a request says: its own words, more where it asks for work."""
    shown = objective_of(text, _MAIN_CHARS)
    weight = min(len(own_terms(shown)), _MANY_WORDS)
    if weight < _NEW_WORDS:
        return 0
    if read_prompt(text).corrects:
        weight //= 2  # about what was done, not about what to do
    if is_question(shown) and not _WISH.search(shown):
        return 0
    return weight * 2 if asks_for_work(shown) or _WISH.search(shown) else weight
