"""Tells a secret's value from what stands in its place: placeholders, variables, code, paths."""

from __future__ import annotations

import re
from collections import Counter
from math import log2

LOOKED_AT = 256
"""Bytes of a value that decide; what goes on for longer is no placeholder."""

_VARIABLE = re.compile(
    rb"\$[({]|\$[A-Z_][A-Z0-9_]*\b|\$[a-z_]+$|<[^>]*>?$|\{.*\}$|%s$|%[({]|%[A-Z_]+%$|"
    rb"(?:process\.env|os\.(?:environ|getenv)|import\.meta|secrets|env|config|settings|self|this)\."
)
_MASK = re.compile(rb"(?i)xxxx|\*\*\*|\.\.\.|###")
_STAND_IN = re.compile(
    rb"(?i)change-?_?me|example|placeholder|dummy|redacted|sample|your[-_a-z]*"
    rb"(?:key|token|secret|password|here)|(?:insert|replace|enter)[-_](?:your|me|this|with)"
)
_WORDS = frozenset(
    b"undefined required optional boolean function response request string number object nullable "
    b"hidden masked disabled enabled expired invalid missing unknown provided received".split()
)
_PATH = re.compile(rb"(?:\.{0,2}|~)/(?:[\w.@-]+/)*[a-z]{2,}/")
_EXPRESSION = re.compile(
    rb"!?[A-Za-z_]\w*(?:\??\.[A-Za-z_]\w*)+[\[,;]*$|[A-Za-z_]+\[[A-Za-z_:0-9-]{0,8}$"
)
_IDENTIFIER = re.compile(rb"[A-Za-z_]+[,;.]?$")
_CAMEL_OR_SNAKE = re.compile(rb"[a-z][A-Z]|[A-Za-z]_[A-Za-z]")
_DIGIT = re.compile(rb"[0-9]")
_KEY_MATERIAL = re.compile(rb"[A-Za-z0-9+/=]{32}")


def is_value(value: bytes) -> bool:
    """Not a variable, not a mask, not a word that documentation uses instead of a secret."""
    head = value[:LOOKED_AT]
    if _VARIABLE.match(head) or _MASK.search(head) or len(set(head)) <= 2:
        return False
    # A digit makes the difference between `example-key` and a password somebody built on a word.
    return bool(_DIGIT.search(head)) or not (_STAND_IN.search(head) or head.lower() in _WORDS)


def is_setting(value: bytes) -> bool:
    """A value in the environment: anything but a placeholder or the path of a file."""
    return is_value(value) and not _PATH.match(value[:LOOKED_AT])


def is_literal(value: bytes) -> bool:
    """A value that may stand in code without quotes, so it is also told from names and types."""
    if not is_setting(value) or _EXPRESSION.match(value[:LOOKED_AT]):
        return False
    # Names of variables and types are short and in camel or snake case; long ones are random.
    name = len(value) < 24 and _IDENTIFIER.match(value) and _CAMEL_OR_SNAKE.search(value)
    return not name


def is_random(value: bytes) -> bool:
    """Looks drawn at random: digits among letters, and few repetitions."""
    head = value[:LOOKED_AT]
    mixed = _DIGIT.search(head) is not None and not head.isdigit()
    return mixed and entropy(head) >= 2.5 and is_value(value)


def entropy(value: bytes) -> float:
    """Shannon entropy in bits per byte."""
    size = len(value)
    return -sum(n / size * log2(n / size) for n in Counter(value).values()) if size else 0.0


def has_key_material(block: bytes) -> bool:
    """A block between key markers holds a key, not just code that names the markers."""
    return _KEY_MATERIAL.search(block) is not None
