"""What a user's input is: a request, a nod, or a probe of this program."""

from __future__ import annotations

import re
from functools import lru_cache

from session_memory.core.commands import words
from session_memory.core.text.masks import excerpt
from session_memory.distil.prompts import is_internal_prompt, is_request, objective_of, read_prompt
from session_memory.distil.sentences import sentences_of
from session_memory.distil.substance import SHORT_CHARS, stands_alone
from session_memory.regex_cache import compiled

# A test of our own tools, or a program asking for a title or summary: nothing to learn.
_PROBE = compiled(
    r"\bmem_[a-z_]{3,40}\b|\brespond exactly as\b"
    r"|\b(?:reply|respond|answer) (?:only )?with"
    r" (?:exactly\b|the exact (?:marker|word|text|string)\b|\S{1,80} only\b)"
    r"|\b(?:return|output|print|with) only (?:one|the|an?|valid)\b[^.\n]{0,40}"
    r"\b(?:code block|json|word|number|letter)\b"
)
_PROBE_WORDS = (
    *("mem_", "respond exactly", "reply with ", "respond with ", "answer with ", "only with "),
    *("return only ", "output only ", "print only ", "with only "),
)
_PROBE_CHARS = 2000
# An input made of such words only says "go on": linear to check, unlike a pattern of them.
_NOD = words(
    "yes yep yeah ok okay sure please pls no nope great perfect thanks cool and then just so now"
    " let's lets sounds good go ahead for do it try run again retry continue proceed keep going on"
    " carry start next post git add commit push merge ship deploy status this that with the to main"
    " master fix plan all both implementation changes up how's how is done one option sorry make"
    " create open a b c d e new pr directly 1 2 3 4 5 6 7 8 9"
)
# Pasted from a shell without a request; or what the user is going to do.
_NO_REQUEST = compiled(
    r"\A(?:[❯➜$%›] |[\w ]{1,24}\s[❯➜›] )"
    r"|\A(?:(?:ok|okay|hm+|wait|now|and|so|well|alright)[ ,.]+)*"
    r"(?:let me|i'?ll|i will|i'?m going to) (?:just )?(?:try|test|check|see|look|have a|play)\b",
    re.I,
)
# Another's message. In lower case, as the text then is.
_TAKES_BACK = compiled(
    r"\b(?:ignore|disregard) (?:that|the|my|this|last|previous)(?: last| previous)?"
    r" (?:message|prompt)|\bwrong (?:chat|session|window|terminal|tab)\b"
)
_TAKES_BACK_CUES = ("ignore ", "disregard ", "wrong ")
_NO_REQUEST_CHARS = 120
_NOD_CHARS = 60
_MARKS = " .,;:!?+&-…()\"'"
_THANKS_CHARS = 30
_FEW_WORDS = 3
_SHORT_QUESTION = 5
_ENOUGH = 100

_SHIP = words("commit push merge ship deploy rebase")
_FEW_SHIPPED = 6


@lru_cache(maxsize=4)  # observations and rules look at the same prompts
def is_probe(text: str) -> bool:
    """Whether a turn is a test of our tools, or an internal prompt of some program."""
    head = text[:_PROBE_CHARS].lower()
    if any(map(head.__contains__, _PROBE_WORDS)) and _PROBE.search(head):
        return True
    return is_internal_prompt(text)


def asks_little(typed: str) -> bool:
    """True for inputs that only nod, ship, paste or point: "yes", "commit and push", "not that"."""
    if nods(typed):
        return True
    own = typed.strip()
    return not stands_alone(_unshipped(own))


@lru_cache(maxsize=4)  # an input that asks little is looked at again
def nods(typed: str) -> bool:
    """True for inputs without a word about the work itself."""
    own = typed.strip()
    if not is_request(own) or _NO_REQUEST.match(own[:_NO_REQUEST_CHARS]) or _takes_back(own):
        return True
    if len(own) > _NOD_CHARS:
        return False
    count = len(own.split()) + (0 if own.isascii() else _FEW_WORDS)  # not all use blanks
    if count < _FEW_WORDS or (count <= _SHORT_QUESTION and own.endswith("?")):
        return True
    said = [word.strip(_MARKS) for word in own.lower().split() if word.strip(_MARKS)]
    strange = sum(word not in _NOD for word in said)
    if strange == 0:
        return True
    # A slip of the finger does not make a request of "commit and hpush".
    if len(said) <= _FEW_SHIPPED and strange <= len(said) // 2 and not _SHIP.isdisjoint(said):
        return True
    return len(own) <= _THANKS_CHARS and read_prompt(own).approval is not None


def _takes_back(own: str) -> bool:
    head = own[:_NO_REQUEST_CHARS].lower()
    may_take = any(map(head.__contains__, _TAKES_BACK_CUES))
    return may_take and _TAKES_BACK.search(head) is not None


def _unshipped(typed: str) -> str:
    """A short input without the sentences that only send off what was done."""
    if len(typed) > SHORT_CHARS:
        return typed
    said = list(sentences_of(typed))
    if len(said) == 1:
        return typed
    return " ".join(each for each in said if read_prompt(each).approval is None)


def request_of(text: str, limit: int) -> str:
    """What an input asks: its first paragraph, or more where that alone says little."""
    shown = objective_of(text, limit)
    enough = len(shown) >= min(_ENOUGH, len(text))
    return shown if enough else excerpt(text, limit)


def is_typed_command(text: str) -> bool:
    """Whether a slash command carries words of the user's own, not only flags and paths."""
    own = [word for word in text.split()[1:] if word[:1].isalpha()]
    return len(own) > 1 and is_request(text)
