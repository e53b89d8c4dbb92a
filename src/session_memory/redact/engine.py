"""Replaces secrets by placeholders; most text needs only one or two quick passes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from session_memory.core.hashing import blake2b
from session_memory.redact.decoded import Decoded
from session_memory.redact.json_fields import named_value, pair_value
from session_memory.redact.keywords import Keywords
from session_memory.redact.linear_regex import Match, Pattern, compile_pattern
from session_memory.redact.pieces import PLACEHOLDER, TEXT, Edit, Piece, apply, spread
from session_memory.redact.placeholder import marks, placeholder
from session_memory.redact.rule_table import RULES, Rule
from session_memory.redact.secret_names import is_secret_name
from session_memory.regex_cache import compiled

PASSES = 12
"""A placeholder is a new word boundary, so it can uncover another secret next to it. Real logs
settle after two passes, 40,000 random mixtures of our samples after four at most; input designed
to need more is redacted as a whole."""
DEPTH = 3
"""How many encodings, one inside the other, are undone."""
VENDOR_ID = compiled(r"(?:toolu|call)_[A-Za-z0-9]{1,24}")
"""Ids of calls as Anthropic and OpenAI make them: too short and too plain for any of our rules.
Each is random, so looking at it builds states of the automaton that no other text needs."""
UNSETTLED = "unsettled"
NAMED_FIELD = "named-field"

UNDECODABLE = (msgspec.MsgspecError, RecursionError, ValueError, OverflowError)

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]


class SecretSpan(msgspec.Struct, frozen=True, order=True):
    """A span to replace, and the secret in it that the tag is made from."""

    start: int
    end: int
    order: int
    """Index of the rule in the table: on overlap the first rule wins."""
    secret: bytes
    first: int
    """Where the secret begins; the rule's `lead` replaces what is before it."""
    lead: bytes


class Hit(NamedTuple):
    """Byte offsets of a secret in a text, and the rule that found it; never its value."""

    start: int
    end: int
    rule: str


class UnsettledError(Exception):
    """Replacing keeps uncovering more secrets: the text is designed to do so."""


class _Compiled(msgspec.Struct, frozen=True):
    patterns: dict[int, Pattern]
    """Of the rules that were needed so far."""
    keywords: Keywords


@lru_cache(maxsize=2)  # 11 ms, and a worker makes several redactors
def _compile(rules: tuple[Rule, ...]) -> _Compiled:
    return _Compiled({}, Keywords(rules))


class Redactor:
    """The compiled rules and the store's key; counts replacements by rule."""

    def __init__(
        self, key: bytes, rules: Sequence[Rule] = RULES, extra: Sequence[Rule] = ()
    ) -> None:
        if not key:
            raise ValueError("redaction needs a key: without one a tag could be guessed")
        self.counts: Counter[str] = Counter()
        self._key = key if len(key) <= blake2b.MAX_KEY_SIZE else blake2b(key).digest()
        # The user's own rules come first, so that hits are named after them.
        self._rules = (*extra, *rules)
        self._has_extra = bool(extra)
        compiled = _compile(self._rules)
        self._patterns, self._keywords = compiled.patterns, compiled.keywords

    def redact(self, data: bytes) -> bytes:
        """`data` with every secret replaced; the same object when there is none."""
        pieces = self._cut(data)
        return b"".join(piece.data for piece in pieces) if pieces else data

    def find(self, data: bytes) -> list[Hit]:
        """Where `redact` would replace something, in order."""
        pieces = self._cut(data)
        return [Hit(piece.start, piece.end, piece.rule) for piece in pieces if piece.is_replaced]

    def redact_joined(self, parts: Sequence[bytes]) -> list[bytes]:
        """`parts` of one streamed message, redacted as the one text they are.

        A secret that spans several of them leaves its placeholder where it began.
        """
        pieces = self._cut(b"".join(parts))
        return spread(pieces, map(len, parts)) if pieces else list(parts)

    def redact_text(self, text: str) -> str:
        """`redact` for text; the same object when there is no secret."""
        # surrogatepass: logs hold lone surrogates, and a record must not be lost for one.
        data = text.encode("utf-8", "surrogatepass")
        redacted = self.redact(data)
        return text if redacted is data else redacted.decode("utf-8", "surrogatepass")

    def redact_words(self, words: Collection[str]) -> dict[str, str]:
        """The words that change, each with its redacted form; all are checked in one pass."""
        if not self._has_extra:
            words = [word for word in words if not VENDOR_ID.fullmatch(word)]
        if not words:
            return {}
        together = "\n".join(words).encode("utf-8", "surrogatepass")
        if not (self._has_extra or self._keywords.rules(together)):
            return {}
        clean = {word: self.redact_text(word) for word in words}
        return {word: text for word, text in clean.items() if text is not word}

    def redact_json(self, encoded: bytes) -> bytes:
        """A JSON document with every string redacted; the same object when there is no secret.

        What cannot be decoded becomes one JSON string that holds its redacted text.
        """
        escaped = b"\\u00" in encoded or b"\\/" in encoded  # escapes that hide a keyword
        if not (escaped or self._keywords.seen(encoded)):
            return encoded
        try:
            document: Json = msgspec.json.decode(encoded)
            if self._is_clean(document):
                return encoded
            redacted = self._redact_value(document)
            return encoded if redacted == document else msgspec.json.encode(redacted)
        except UNDECODABLE:
            return msgspec.json.encode(self.redact(encoded).decode("utf-8", "replace"))

    def take_counts(self) -> dict[str, int]:
        """Replacements by rule since the last call."""
        counts = dict(self.counts)
        self.counts.clear()
        return counts

    def _cut(self, data: bytes) -> list[Piece]:
        """The text in pieces with every secret replaced; empty when there is none."""
        rules = self._keywords.rules(data)
        if not rules:
            return []
        pieces: list[Piece] = []
        try:
            for start, end, is_placeholder in marks(data):
                piece = Piece(data[start:end], start, end, PLACEHOLDER if is_placeholder else TEXT)
                if start or end < len(data):  # a mark changes where words begin and end
                    rules = self._keywords.rules(piece.data)
                pieces += (piece,) if is_placeholder else self._settle(piece, PASSES, rules)
        except UnsettledError:
            pieces = [Piece(placeholder(data, self._key), 0, len(data), UNSETTLED)]
        replaced = [piece.rule for piece in pieces if piece.is_replaced]
        self.counts.update(replaced)
        return pieces if replaced else []

    def _settle(self, piece: Piece, passes: int, rules: set[int]) -> Iterator[Piece]:
        """Replace secrets, then search each remaining part again."""
        edits = list(self._edits(piece.data, rules))
        if not edits:
            yield piece
            return
        if not passes:
            raise UnsettledError
        for part in apply(piece, edits):
            if part.rule == TEXT:
                yield from self._settle(part, passes - 1, self._keywords.rules(part.data))
            else:
                yield part

    def _edits(self, text: bytes, rules: set[int]) -> Iterator[Edit]:
        spans = list(self._spans(text, rules, DEPTH))
        for span in merge(spans) if spans else ():
            mark = placeholder(span.secret, self._key)
            rule = self._rules[span.order].id
            yield Edit(span.start, span.first, span.end, span.lead, mark, rule)

    def _spans(self, text: bytes, rules: set[int], depth: int) -> Iterator[SecretSpan]:
        for order in sorted(rules):
            decode = self._rules[order].decode
            if decode is None:
                yield from self._apply(order, text)
            elif depth:
                yield from self._decoded(decode(text), depth - 1)

    def _decoded(self, decoded: Decoded, depth: int) -> Iterator[SecretSpan]:
        """What all rules find in a decoded text; a tag is made of the decoded secret."""
        for span in self._spans(decoded.data, self._keywords.rules(decoded.data), depth):
            first = decoded.first(span.first)
            yield SecretSpan(
                first, decoded.last(span.end), span.order, span.secret, first, lead=b""
            )

    def _apply(self, order: int, text: bytes) -> Iterator[SecretSpan]:
        rule = self._rules[order]
        pattern = self._patterns.get(order)
        if pattern is None:  # compiled when first needed: most rules never are
            pattern = self._patterns[order] = compile_pattern(rule.pattern)
        for match in pattern.finditer(text):
            if rule.find:
                for first, last in rule.find(text, *match.span()):
                    yield SecretSpan(first, last, order, text[first:last], first, lead=b"")
                continue
            first, last = secret_span(match, rule.group, pattern.groups)
            secret = text[first:last]
            if not secret or (rule.check and not rule.check(secret)):
                continue
            if rule.fits is None or rule.fits(text, first, last):
                start = match.span()[0] if rule.lead else first
                yield SecretSpan(start, last, order, secret, first, rule.lead)

    def _is_clean(self, document: Json) -> bool:
        """Checks all strings in one pass, which is enough for most documents.

        Each string is on its own line, so our rules match as in the single strings. A rule of the
        user may depend on where a text begins, so with such rules every string is checked.
        """
        if self._has_extra:
            return False
        texts: list[str] = []
        stack = [document]
        while stack:
            value = stack.pop()
            if isinstance(value, str):
                texts.append(value)
            elif isinstance(value, list):
                stack += value
            elif isinstance(value, dict):
                if any(is_secret_name(name) for name in value) or pair_value(value):
                    return False
                texts += value
                stack += value.values()
        return not self._keywords.rules("\n".join(texts).encode("utf-8", "surrogatepass"))

    def _redact_value(self, value: Json) -> Json:
        match value:
            case str():
                return self.redact_text(value)
            case list():
                return [self._redact_value(item) for item in value]
            case dict():
                secret = pair_value(value)
                return {
                    self.redact_text(name): self._redact_field(name, item, named=name == secret)
                    for name, item in value.items()
                }
            case _:
                return value

    def _redact_field(self, name: str, value: Json, *, named: bool) -> Json:
        """A value under a name such as `password` is a secret whatever it looks like."""
        data = named_value(name, value, named=named)
        if data is None:
            return self._redact_value(value)
        self.counts[NAMED_FIELD] += 1
        return placeholder(data, self._key).decode()


def secret_span(match: Match, group: int, groups: int) -> tuple[int, int]:
    """The span of the rule's group, or of the next group that matched."""
    for number in range(group, groups + 1):
        span = match.span(number)
        if span[0] >= 0:
            return span
    return match.span()


def merge(spans: list[SecretSpan]) -> Iterator[SecretSpan]:
    """Join overlapping spans, so that no part of a secret remains next to its placeholder.

    The tag comes from the first rule in the table: `token=ghp_x,` and a bare `ghp_x` get the same
    tag, although the rule for assignments takes the comma as part of the value.
    """
    spans.sort()
    current = spans[0]
    for span in spans[1:]:
        if span.start >= current.end:
            yield current
            current = span
            continue
        best = min(current, span, key=lambda each: each.order)
        end = max(current.end, span.end)
        first = current.first if current.lead else min(current.first, span.first)
        current = SecretSpan(current.start, end, best.order, best.secret, first, current.lead)
    yield current
