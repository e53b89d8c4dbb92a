"""What a rule is, and samples for it that are made on the spot."""

from __future__ import annotations

from collections.abc import Callable

import msgspec


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of secret.

    Rules of known formats have no leading `\\b`: in escaped text a key may follow a literal `\\n`.
    """

    id: str
    pattern: bytes
    """RE2 syntax, over bytes."""
    keywords: tuple[str, ...]
    """Every match holds one of them, in any case. None at all: the rule is always tried."""
    exact: bool = False
    """Keywords count only as they are written; long random text holds fewer of them by chance."""
    everyday: bool = False
    """Its keywords are words of ordinary text: the whole pattern is looked for in a second look,
    so it may hold nothing long and counted before the keyword, which slows the automaton."""
    sign: bytes = b""
    """A simpler expression that stands in every match: that look is for it in place of the
    pattern, where that would make the automaton large. Building it costs more than the looking."""
    group: int = 0
    """The group that is the secret, or the first after it that took part; the rest stays."""
    lead: bytes = b""
    """If set, the match is replaced from its beginning, and this stands before the placeholder."""
    check: Callable[[bytes], bool] | None = None
    """Says of the secret whether it really is one."""
    must_match: tuple[str, ...] = ()
    must_not_match: tuple[str, ...] = ()


def fake(prefix: str, length: int, alphabet: str = "a1B2c3D4e5F6g7H8i9J0") -> str:
    """A sample made on the spot, so that this file sets off no scanner."""
    return prefix + (alphabet * (length // len(alphabet) + 1))[:length]


HEX = "0f1e2d3c4b5a6978"
LETTERS = "qXvJzKwBhGpDfZrQkVxWjN"
UPPER = "A1B2C3D4E5F6G7H8"
