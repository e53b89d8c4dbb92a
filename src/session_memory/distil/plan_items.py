"""Which items of an agent's plan are open and which are done, as its plan calls leave them."""

from __future__ import annotations

import re
from collections import Counter

from session_memory.core.commands import words
from session_memory.distil.plans import PlanLog
from session_memory.regex_cache import compiled

_COMPLETIONS = ('"completed"', '"complete"', '"done"')

_LOOKING = words(
    "check explore read search find look understand examine inspect gather identify discover"
    " navigate install trace audit investigate determine confirm locate compare assess research"
    " collect spawn wait monitor report summarize respond ask study map scan"
)
_ROUTINE = words("run test verify commit push review analyze analyse lint format mark") | _LOOKING
_VAGUE = words(
    "implement create add update build write clean set up define setup finish complete basic"
    " core main functionality feature features frontend backend components files code project"
    " structure default boilerplate documentation docs tests all new and the for of user initial"
    " changes types folder folders implementation suite cases unit comprehensive essential"
    " information with proper responsive layout styling styles final verification validation qa"
    " remaining findings everything error errors handling loading states integrate component"
    " latest current dependencies module"
)
_NUMBERED = compiled(r"(?:(?:task|step|phase|part) )?\d+[a-z]?(?:[.:)]| -) ", re.I)
_FEW_WORDS = 5
_MORE_WORDS = 7


def is_routine(item: str) -> bool:
    """True for steps every task has ("run the tests") or that only look: once done, forgotten."""
    said = _NUMBERED.sub("", item.lower(), count=1).split()
    if not said or said[0] in _LOOKING:
        return True
    if len(said) > _MORE_WORDS:
        return False
    if said[0] in _ROUTINE or (len(said) <= _FEW_WORDS and said[-1] in _ROUTINE):
        return True
    # "Implement core functionality" names nothing that could be looked up later.
    return all(word in _VAGUE or word in _ROUTINE for word in said)


class PlanItems:
    """The same calls read twice: as stated, and with every completion taken back.

    What only the second reading calls open was completed; a cancelled item is in neither.
    """

    __slots__ = ("_open", "_seen", "_undone")

    def __init__(self) -> None:
        self._open = PlanLog()
        self._undone = PlanLog()
        self._seen: tuple[list[str], int] = ([], 0)

    def call(self, tool: str, text: str, call_id: str | None) -> None:
        """Take in one plan call; `text` is its input as JSON."""
        self._open.call(tool, text, call_id)
        for word in _COMPLETIONS:  # inside a JSON string these quotes would be escaped
            text = text.replace(word, '"pending"')
        self._undone.call(tool, text, call_id)

    def result(self, call_id: str | None, text: str) -> None:
        """Take in the result of a call: it has the number of a created task."""
        self._open.result(call_id, text)
        self._undone.result(call_id, text)

    def changes(self) -> tuple[list[str], list[str]] | None:
        """Open items and completed items, in the order of the plan; None if it is as before."""
        opened, closed = self._open.items()
        if (opened, closed) == self._seen:
            return None
        self._seen = (opened, closed)
        if not closed:
            return opened, []
        undone, _ = self._undone.items()
        left = Counter(opened)
        done: list[str] = []
        for item in undone:
            if left[item]:
                left[item] -= 1
            else:
                done.append(item)
        return opened, done
