"""How well redaction does on labelled lines: what it finds, what it flags besides, how fast."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from session_memory.redact import Redactor

MESSAGE = 16 * 1024
ROUNDS = 3

Span = tuple[int, int]


class Labelled(msgspec.Struct, frozen=True):
    """A line and where its secrets stand, in characters."""

    line: str
    secret_spans: tuple[Span, ...] = ()


class Score(msgspec.Struct, kw_only=True):
    """Counts over all lines; the figures follow from them."""

    lines: int = 0
    secrets: int = 0
    found: int = 0
    """Secrets of which every character is covered."""
    partial: int = 0
    """Secrets of which some characters are."""
    flags: int = 0
    true_flags: int = 0
    """Flags that touch a secret."""
    clean_lines: int = 0
    clean_flags: int = 0
    size: int = 0
    seconds: float = 0.0
    """Of all lines as one text; each secret in it costs as much as kilobytes without one."""
    clean_size: int = 0
    clean_seconds: float = 0.0
    rules: dict[str, int] = msgspec.field(default_factory=lambda: dict[str, int]())

    def figures(self) -> dict[str, float | int | dict[str, int]]:
        """What the score says, as shares."""
        return {
            "lines": self.lines,
            "secrets": self.secrets,
            "recall": share(self.found, self.secrets),
            "recall_with_partial": share(self.found + self.partial, self.secrets),
            "precision": share(self.true_flags, self.flags),
            "flags_per_1000_lines_without_secrets": 1000
            * share(self.clean_flags, self.clean_lines),
            "mb_per_second": share(self.size / 1e6, self.seconds),
            "mb_per_second_without_secrets": share(self.clean_size / 1e6, self.clean_seconds),
            "rules": dict(self.ordered_rules()),
        }

    def ordered_rules(self) -> list[tuple[str, int]]:
        """Flags by rule, most first."""
        return sorted(self.rules.items(), key=lambda item: (-item[1], item[0]))


def share(part: float, whole: float) -> float:
    """A part of a whole; nothing of nothing is nothing."""
    return part / whole if whole else 0.0


def spans_of(redactor: Redactor, line: str) -> list[tuple[int, int, str]]:
    """What would be replaced in a line: (start, end, rule), in characters."""
    data = line.encode("utf-8", "surrogatepass")
    hits = redactor.find(data)
    if len(data) == len(line):
        return [tuple(hit) for hit in hits]

    def place(offset: int) -> int:
        return len(data[:offset].decode("utf-8", "surrogatepass"))

    return [(place(hit.start), place(hit.end), hit.rule) for hit in hits]


def covered(span: Span, flags: Sequence[tuple[int, int, str]]) -> int:
    """How many characters of a span lie under a flag; flags do not overlap."""
    start, end = span
    return sum(max(0, min(end, last) - max(start, first)) for first, last, _ in flags)


def timed(lines: Sequence[Labelled], redactor: Redactor) -> tuple[int, float]:
    """Bytes and CPU seconds of lines as texts of the size that messages in logs have."""
    whole = "\n".join(item.line for item in lines).encode("utf-8", "surrogatepass")
    texts = [whole[start : start + MESSAGE] for start in range(0, len(whole), MESSAGE)]
    spent = float("inf")
    for _ in range(ROUNDS):  # the first builds the automaton
        started = time.process_time()
        for text in texts:
            redactor.redact(text)
        spent = min(spent, time.process_time() - started)
    return len(whole), spent


def score(lines: Iterable[Labelled], redactor: Redactor, *, timing: bool = True) -> Score:
    """Redact every line by itself and count."""
    result, rules = Score(), Counter[str]()
    lines = list(lines)
    if timing:
        result.size, result.seconds = timed(lines, redactor)
        clean = [item for item in lines if not item.secret_spans]
        result.clean_size, result.clean_seconds = timed(clean, redactor)
    for item in lines:
        flags = spans_of(redactor, item.line)
        rules.update(rule for _, _, rule in flags)
        hidden = [covered(span, flags) for span in item.secret_spans]
        whole = [
            hides == end - start
            for hides, (start, end) in zip(hidden, item.secret_spans, strict=True)
        ]
        result.lines += 1
        result.secrets += len(whole)
        result.found += sum(whole)
        result.partial += sum(
            not all_ and some > 0 for all_, some in zip(whole, hidden, strict=True)
        )
        result.flags += len(flags)
        result.true_flags += sum(
            any(first < end and start < last for start, end in item.secret_spans)
            for first, last, _ in flags
        )
        if not item.secret_spans:
            result.clean_lines += 1
            result.clean_flags += len(flags)
    result.rules = dict(rules)
    redactor.take_counts()
    return result
