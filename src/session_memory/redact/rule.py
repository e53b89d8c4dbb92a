"""What a rule is, and a generator for its samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from session_memory.redact.decoded import Decoded


class Rule(msgspec.Struct, frozen=True, kw_only=True):
    """One kind of secret.

    Rules of known formats have no leading `\\b`: in escaped text a key may follow a literal `\\n`.
    """

    id: str
    pattern: bytes
    """RE2 syntax, over bytes."""
    keywords: tuple[str, ...]
    """Every match contains one of them, in any case. Without keywords the rule is always tried."""
    exact: bool = False
    """Keywords are case-sensitive: long random text contains fewer of them by chance."""
    everyday: str = ""
    """Its keywords are ordinary words, so a second pass over the text looks for the whole pattern,
    together with the other rules of the group that this names: such as have similar keywords.
    Long counted repetitions before the keyword would slow that pass down."""
    prefilter: bytes = b""
    """A simpler expression that is part of every match. For an everyday rule the second pass looks
    for it instead of the pattern, where that would make the automaton large and slow to build."""
    group: int = 0
    """The group that is the secret, or the first matching one after it; the rest stays."""
    lead: bytes = b""
    """If set, the match is replaced from its start, with this text before the placeholder."""
    check: Callable[[bytes], bool] | None = None
    """Decides whether the match really is a secret."""
    fits: Callable[[bytes, int, int], bool] | None = None
    """Decides from the text around the secret, and where that begins and ends."""
    find: Callable[[bytes, int, int], Iterable[tuple[int, int]]] | None = None
    """Gives the places of secrets around a match, from the text and the match's start and end; for
    what depends on more than the match. In place of `group` and `check`."""
    decode: Callable[[bytes], Decoded] | None = None
    """Undoes an encoding that the text contains; all rules are applied to what comes out."""
    must_match: tuple[str, ...] = ()
    must_not_match: tuple[str, ...] = ()


def fake(prefix: str, length: int, alphabet: str = "a1B2c3D4e5F6g7H8i9J0") -> str:
    """A generated sample, so that secret scanners do not flag this file."""
    return prefix + (alphabet * (length // len(alphabet) + 1))[:length]


HEX = "0f1e2d3c4b5a6978"
LETTERS = "qXvJzKwBhGpDfZrQkVxWjN"
UPPER = "A1B2C3D4E5F6G7H8"
