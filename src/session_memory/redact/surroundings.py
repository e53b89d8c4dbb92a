"""What the text around a value says of it, where the value alone could be a secret."""

from __future__ import annotations

from session_memory.redact.value_checks import (
    ends_as_name,
    is_identifier,
    is_password,
    is_spoken,
)
from session_memory.redact.well_known import describes_key
from session_memory.regex_cache import compiled

BEFORE = 80
"""Bytes before a value in which its name stands."""
LINE = 240
"""Bytes of a line that are looked at before and after a name."""
STORES = compiled(
    rb"(?i)(?:env|get\w*|set\w*|put|define|property|setitem|header|add|string|append)"
    rb"(?:<[\w ]{1,20}>)?\s*\(\s*(?:[^()'\"`]{0,40},\s*)?['\"`]?[\w.-]*$"
)
"""A call that keeps its last argument, up to the name of what it keeps."""
_NAME = compiled(
    rb"([A-Za-z_$][\w$.-]*)(?:['\"`\])]|\[[0-9]*\])*\s*[:=!>|?<-]{1,3}\s*[brufl@]{0,2}\\*['\"`]?$"
)
_PASSWORD = compiled(rb"(?i)pass|pwd|kennwort")
_NAMES_KEY = compiled(rb"(?i)(?:token|key)(?:[_-]?[a-z0-9]{1,10})?$")
_PUBLIC = compiled(rb"(?i)public[_-]?key(?:[_-]?token)?$|websocket-(?:key|accept)$")
_QUOTES = (b'"', b"'", b"`")
_TWO_WORDS = compiled(rb"[a-z]+[-_.][a-z]+$")
_CALLED = compiled(rb":?[A-Za-z_][\w.:]*$")
_SENTENCE = compiled(rb"[ \t]+[a-z]+[ \t,.]")
_PAIR = compiled(rb"([^\r\n]*)['\"`]\s*,\s*[brufl@]{0,2}\\*['\"`]$")
_ARN = compiled(rb"\barn:[^\s\"']*:secret:$")
"""What follows in an address of Amazon is the name of a secret."""
_LOOP = compiled(rb"\bfor\s[^\r\n]{0,40}\sin\s")
_LONGEST_WORD = 12


def is_literal_here(text: bytes, start: int, end: int) -> bool:
    """Whether a value stands for itself: no call, sentence, name of code or name of a secret."""
    value, low = text[start:end], max(0, start - LINE)
    if ends_as_name(value) or _is_called(text, start, end) or _ARN.search(text, low, start):
        return False
    name = name_before(text, start)
    if repeats_name(name, value) or _PUBLIC.search(name):
        return False
    if not _PASSWORD.search(name) and describes_key(value):
        return False
    if text[start - 1 : start] in _QUOTES:
        # Several words are a sentence; phrases that are passwords have a rule of their own.
        return not (text[end : end + 1] == b" " and value.isalpha() and is_spoken(value))
    if value.istitle() and text[end - 1 : end].isalpha() and _SENTENCE.match(text, end):
        return False
    return bool(_PASSWORD.search(name)) or not is_identifier(value)


def is_worth_hiding(text: bytes, start: int, end: int) -> bool:
    """Whether a literal can be the secret that the name before it announces."""
    if not is_literal_here(text, start, end):
        return False
    # Tokens and keys are generated, passwords are chosen.
    return not (_NAMES_KEY.search(name_before(text, start)) and is_plain_word(text[start:end]))


def name_before(text: bytes, start: int) -> bytes:
    """The name that a value is assigned to."""
    name = _NAME.search(text[max(0, start - BEFORE) : start])
    return name[1] if name else b""


def repeats_name(name: bytes, value: bytes) -> bool:
    """Whether a value is the name it stands under, perhaps in another spelling."""
    plain = value.strip(b",;?").translate(None, b"_-. ").lower()
    return len(plain) > 3 and name.translate(None, b"_-.").lower().endswith(plain)


def is_plain_word(value: bytes) -> bool:
    """One word of a language or two short ones, and nothing else."""
    if len(value) > _LONGEST_WORD:
        return False
    return (value.isalpha() and is_spoken(value)) or _TWO_WORDS.match(value) is not None


def is_stored(text: bytes, start: int, end: int) -> bool:
    """Whether what follows a name in a list of arguments is its value, and no other word."""
    pair = _PAIR.search(text[max(0, start - LINE) : start])
    return not pair or STORES.search(pair[1]) is not None or is_password(text[start:end])


def is_no_user(text: bytes, start: int, end: int) -> bool:
    """Whether what stands before the `@` of an address is a token, not the user of a password."""
    return text[end : end + 1] != b":" or not is_spoken(text[start:end])


def is_no_loop(text: bytes, start: int, end: int) -> bool:
    """Whether words before a value are speech, not `for token in tokens`, and end before it."""
    if text[start - 1 : start].isalnum():
        return False
    return _LOOP.search(text[max(0, start - BEFORE) : end]) is None


def is_no_public_key(text: bytes, start: int, end: int) -> bool:
    """Whether the name before a value does not mark it as public."""
    return end > start and _PUBLIC.search(name_before(text, start)) is None


def _is_called(text: bytes, start: int, end: int) -> bool:
    """Whether a value is the name of a function whose arguments follow, or runs a command."""
    if text[end : end + 1] != b"(":
        return False
    return text[end - 1 : end] == b"$" or _CALLED.match(text, start, end) is not None
