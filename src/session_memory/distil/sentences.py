"""Prose out of a reply: without code, tables and markup, sentence by sentence."""

from __future__ import annotations

import re
from collections.abc import Iterator

from session_memory.core.text.masks import excerpt
from session_memory.regex_cache import compiled

_LINK = compiled(r"(?:!\[|\[)([^\]\n]{1,200})\]\([^)\s]{1,400}\)")
_BULLET = compiled(r"(?:[-*+•‣]|\d{1,2}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_NO_PROSE = compiled(r"\||#{1,6}[ \t]|[-=*_]{3,}$|[^\w\s]*$|</?\w+[^>]*>$")
# A full stop inside "e.g. this" or "v1.2" ends nothing; one behind a bracket or quote does.
_SENTENCE_END = compiled(
    # The mark comes first, so that every other character is passed over at once.
    r"[.!?…。！？](?:(?<=[。！？])"
    r"|(?<!e\.g.)(?<!i\.e.)(?<!etc.)(?<!vs.)(?<!cf.)[)\]\"'`*_]*(?=\s|$))"
)
_MARKS = (".", "!", "?", "…", "。", "！", "？")
_ENOUGH = 140
_CHEER = compiled(r"[✅☑✔🎉✨🚀️⚡🔧📝]+ *")
_CHEER_FIRST = compiled(
    r"(?:[✅☑✔🎉✨🚀️⚡🔧📝]+ *|(?:perfect|great|excellent|awesome|success|wonderful)[!.] *)+", re.I
)


def plain(text: str) -> str:
    """One line or paragraph without links and bold marks; `__init__` stays what it is."""
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    return text.replace("**", "").strip()


def first_sentence(text: str) -> str:
    """The text up to its first sentence end, that included."""
    end = _SENTENCE_END.search(text)
    return (text[: end.end()] if end else text).strip()


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text; lines end sentences too, as lists are seldom punctuated."""
    for line in prose_lines(text):
        yield from sentences_of(line)


def sentences_of(line: str) -> Iterator[str]:
    """The sentences of one line of prose."""
    if not any(map(line[:-1].__contains__, _MARKS)):  # but at its end: one sentence
        if line:
            yield line.strip()
        return
    start = 0
    for end in _SENTENCE_END.finditer(line):
        yield line[start : end.end()].strip()
        start = end.end()
    if start < len(line):
        yield line[start:].strip()


def prose_lines(text: str) -> Iterator[str]:
    """Lines that speak: no code, no table, no rule, no heading; bullets without their mark."""
    fenced = False
    for raw in text.splitlines():
        line = raw.strip()
        if line.startswith(("```", "~~~")):
            fenced = not fenced
            continue
        if fenced or not line:
            continue
        if not line[0].isalpha():  # most lines begin with a letter, and need no closer look
            if _NO_PROSE.match(line):
                continue
            line = without_bullet(line)
        words = plain(line)
        if words:
            yield words


def without_bullet(line: str) -> str:
    """A line without the mark of a list."""
    bullet = _BULLET.match(line)
    return line[bullet.end() :] if bullet else line


def without_cheers(line: str) -> str:
    """A line without the cries of joy that it begins with."""
    return without_start(_CHEER_FIRST, line)


def without_start(pattern: re.Pattern[str], text: str) -> str:
    """A text without what the pattern matches at its start."""
    match = pattern.match(text)
    return text[match.end() :] if match else text


def opening(text: str, limit: int) -> str:
    """What a reply says, from its start: lines are joined until there is enough of it."""
    taken: list[str] = []
    length = 0
    for line in prose_lines(text[: limit * 6]):
        said = without_start(_CHEER, line) if taken else without_cheers(line)
        if not said:
            continue
        taken.append(said)
        length += len(said)
        if length >= _ENOUGH and not line.endswith(":"):
            break
    return excerpt(" ".join(taken), limit)
