"""Replaces secrets by placeholders; most text is let through after one pass over its bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

import msgspec

from session_memory.redact.linear import compile_pattern, compile_set, literal
from session_memory.redact.named import MIN_QUOTED, SECRET_NAME
from session_memory.redact.placeholder import MARK, gaps, placeholder
from session_memory.redact.plausible import is_value
from session_memory.redact.rules import RULES, Rule

PASSES = 12
"""A placeholder is a new word boundary, so it can uncover another secret beside it. Genuine logs
settle after two passes, 40,000 random mixtures of our samples after four at most; input made to go
on for longer is redacted as a whole."""
UNSETTLED = "unsettled"
NAMED_FIELD = "named-field"

UNDECODABLE = (msgspec.MsgspecError, RecursionError, ValueError, OverflowError)

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]


class Found(NamedTuple):
    """A stretch to replace, and the secret in it that gives the tag."""

    start: int
    end: int
    order: int
    """Place of the rule in the table: the most specific rule that saw a secret names it."""
    secret: bytes
    lead: bytes
    """What the rule writes before the placeholder in place of what it matched there."""


class Redactor:
    """Holds the compiled table and the store's key; counts what it replaced, by rule."""

    def __init__(self, key: bytes, rules: Sequence[Rule] = RULES) -> None:
        if not key:
            raise ValueError("redaction needs a key: without one a tag could be guessed")
        self.counts: Counter[str] = Counter()
        self._key = key if len(key) <= blake2b.MAX_KEY_SIZE else blake2b(key).digest()
        self._rules = tuple(rules)
        self._patterns = tuple(compile_pattern(rule.pattern) for rule in self._rules)
        self._matching = compile_set(rule.pattern for rule in self._rules)
        keywords = sorted({keyword for rule in self._rules for keyword in rule.keywords})
        self._prefilter = compile_set(literal(keyword) for keyword in keywords)

    def redact(self, data: bytes) -> bytes:
        """`data` with every secret replaced; the same object when there is none."""
        if not self._prefilter.Match(data):
            return data
        for _ in range(PASSES):
            redacted = self._redact_once(data)
            if redacted is data:
                return data
            data = redacted
        self.counts[UNSETTLED] += 1
        return placeholder(data, self._key)

    def redact_text(self, text: str) -> str:
        """`redact` for text; the same object when there is no secret."""
        # surrogatepass: logs hold lone surrogates, and a record must not be lost for one.
        data = text.encode("utf-8", "surrogatepass")
        redacted = self.redact(data)
        return text if redacted is data else redacted.decode("utf-8", "surrogatepass")

    def redact_json(self, encoded: bytes) -> bytes:
        """A JSON document with every string redacted; the same object when there is no secret.

        What cannot be decoded becomes one JSON string that holds its redacted text.
        """
        escaped = b"\\u00" in encoded or b"\\/" in encoded  # spellings that hide a keyword
        if not escaped and not self._prefilter.Match(encoded):
            return encoded
        try:
            document: Json = msgspec.json.decode(encoded)
            redacted = self._redact_value(document)
            return encoded if redacted == document else msgspec.json.encode(redacted)
        except UNDECODABLE:
            return msgspec.json.encode(self.redact(encoded).decode("utf-8", "replace"))

    def take_counts(self) -> dict[str, int]:
        """Replacements by rule since the last call."""
        counts = dict(self.counts)
        self.counts.clear()
        return counts

    def _redact_once(self, data: bytes) -> bytes:
        found = [item for start, end in gaps(data) for item in self._find(data, start, end)]
        if not found:
            return data
        pieces: list[bytes] = []
        position = 0
        for item in merge(found):
            self.counts[self._rules[item.order].id] += 1
            mark = placeholder(item.secret, self._key)
            pieces += (data[position : item.start], item.lead, mark)
            position = item.end
        pieces.append(data[position:])
        return b"".join(pieces)

    def _find(self, data: bytes, start: int, end: int) -> Iterator[Found]:
        text = data if end - start == len(data) else data[start:end]
        for order in self._matching.Match(text) or ():
            rule = self._rules[order]
            for match in self._patterns[order].finditer(text):
                first, last = match.span(rule.group)
                secret = text[first:last]
                if rule.check is None or rule.check(secret):
                    begin = match.span()[0] if rule.lead else first
                    yield Found(start + begin, start + last, order, secret, rule.lead)

    def _redact_value(self, value: Json) -> Json:
        match value:
            case str():
                return self.redact_text(value)
            case list():
                return [self._redact_value(item) for item in value]
            case dict():
                return {
                    self.redact_text(name): self._redact_field(name, item)
                    for name, item in value.items()
                }
            case _:
                return value

    def _redact_field(self, name: str, value: Json) -> Json:
        """A value under a name such as `password` is a secret whatever it looks like."""
        if not isinstance(value, str) or not SECRET_NAME.search(name):
            return self._redact_value(value)
        data = value.encode("utf-8", "surrogatepass")
        # White space means prose: a message about a password, not the password.
        if len(value) < MIN_QUOTED or data.split() != [data] or MARK.search(data):
            return self._redact_value(value)
        if not is_value(data):
            return self._redact_value(value)
        self.counts[NAMED_FIELD] += 1
        return placeholder(data, self._key).decode()


def merge(found: list[Found]) -> Iterator[Found]:
    """Join stretches that overlap, so that no rest of a secret stays beside its placeholder.

    The tag comes from the rule that is first in the table: `token=ghp_x,` and a bare `ghp_x` get
    the same one, although the rule for assignments saw the comma as part of the value.
    """
    found.sort()
    current = found[0]
    for item in found[1:]:
        if item.start >= current.end:
            yield current
            current = item
            continue
        best = min(current, item, key=lambda one: one.order)
        end = max(current.end, item.end)
        current = Found(current.start, end, best.order, best.secret, current.lead)
    yield current
