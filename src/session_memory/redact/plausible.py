"""Tells a secret's value from what stands in its place: placeholders, variables, code, prose."""

from __future__ import annotations

import re
from collections import Counter
from math import log2

LOOKED_AT = 256
"""Bytes of a value that decide; a longer one is no placeholder."""

_STAND_IN = re.compile(
    rb"(?i)change-?_?me|example|placeholder|dummy|redacted|xxxx|\*\*\*|\.\.\.|your[-_a-z]*"
    rb"(?:key|token|secret|password|here)|(?:insert|replace|enter)[-_](?:your|me|this|with)|sample"
)
_VARIABLE = re.compile(rb"\$|<|\{|%[({A-Za-z]|#\{|@[{(]")
_CODE = re.compile(
    rb"[A-Za-z_][\w.:]*[(\[<]|!?[A-Za-z_]\w*(?:\??\.[A-Za-z_]\w*)+[,;)]*$|[([`]|(?:\.{0,2}|~)/[\w.-]+/"
)
_WORDS = frozenset(
    b"undefined required optional boolean function response request string number object nullable "
    b"hidden masked disabled enabled expired invalid missing unknown provided received".split()
)
_IDENTIFIER = re.compile(rb"[A-Za-z_]+[,;.]?$")
_CAMEL_OR_SNAKE = re.compile(rb"[a-z][A-Z]|[A-Za-z]_[A-Za-z]")


def is_value(value: bytes) -> bool:
    """Not a variable, not a mask, not one of the words documentation uses instead of a secret."""
    head = value[:LOOKED_AT]
    if _VARIABLE.match(head) or _STAND_IN.search(head):
        return False
    return len(set(head)) > 2 and head.lower() not in _WORDS


def is_literal(value: bytes) -> bool:
    """A value that stands without quotes, so that it must also be told from code and types."""
    if not is_value(value) or _CODE.match(value[:LOOKED_AT]):
        return False
    if not _IDENTIFIER.match(value):
        return True
    # Names of variables and types are short and in camel or snake case; long ones are random.
    return len(value) >= 24 or not _CAMEL_OR_SNAKE.search(value)


def is_random(value: bytes) -> bool:
    """Looks drawn at random: digits among letters, and few repetitions."""
    head = value[:LOOKED_AT]
    has_digit = any(48 <= byte <= 57 for byte in head)
    return has_digit and not head.isdigit() and entropy(head) >= 2.5 and is_value(value)


def entropy(value: bytes) -> float:
    """Shannon entropy in bits per byte."""
    size = len(value)
    return -sum(n / size * log2(n / size) for n in Counter(value).values()) if size else 0.0


_KEY_MATERIAL = re.compile(rb"[A-Za-z0-9+/=]{32}")


def has_key_material(block: bytes) -> bool:
    """A block between key markers holds a key, not just code that names the markers."""
    return _KEY_MATERIAL.search(block) is not None
