"""The statements of a day's entries, and the things they name: files, commands, errors, symbols."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

import msgspec

from session_memory.core.text.masks import mask
from session_memory.core.text.safe_text import one_line
from session_memory.journal.daily import MAINTENANCE, Entry

Section = Literal["context", "exchange", "decision", "lesson", "action"]
TopicKind = Literal["file", "command", "error", "symbol"]

_SECTIONS: dict[str, Section] = {
    "context": "context",
    "key exchanges": "exchange",
    "decisions made": "decision",
    "lessons learned": "lesson",
    "action items": "action",
}
_HEAD = re.compile(
    r"^(?:\*\*|#{1,6} *)(?P<name>"
    + "|".join(_SECTIONS)
    + r")(?::\*\*|\*\*:?|:?)(?P<rest>(?:\s.*)?)$",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)]) +(?P<text>.+)$")
_LEFT_OUT = re.compile(r"\(\d+ more\)")
_OUTCOME = re.compile(r" \(outcome: \w+\)$")
_SUFFIX = (
    r"(?:py|pyi|ts|tsx|mts|cts|js|jsx|mjs|cjs|go|rs|java|kt|rb|php|c|h|cc|cpp|hpp|cs|swift|sh|ps1"
    r"|sql|md|mdx|json|jsonl|ya?ml|toml|lock|html|css|scss|vue|svelte|xml|ini|cfg)"
)
_FILE = re.compile(
    rf"(?<![\w@/:.-])(?:[~./]{{0,3}}[\w.@+-]+/)*[\w@+-][\w.@+-]*\.{_SUFFIX}\b(?![\w/-])"
)
_CODE = re.compile(r"`([^`\n]{3,80})`")
_COMMAND = re.compile(r"[a-z][\w.+-]*(?: [^\s`]+)+")
_SYMBOL = re.compile(r"[A-Za-z_][\w.:]*(?:\(\))?")
_SEEN = re.compile(r"^Seen \d+ times: (?P<sample>.+)$")
_ADDRESS = re.compile(r"\bhttps?://\S+")
_PREFACE = re.compile(r"^(?:please )?implement the following plan:?\s*(?:#+\s*)?(?:plan:)?", re.I)
_EVERYWHERE = re.compile(
    r"(?:README|CHANGELOG|AGENTS|CLAUDE)\.md|package(?:-lock)?\.json"
    r"|(?:git|gh|cd|ls|cat|npm|pnpm|yarn) [\w-]+(?: \.| -\w+)*",
    re.I,
)
"""Things that every project names: that they recur says nothing."""
_LEAST_ERROR_WORDS = 3


class Item(msgspec.Struct, frozen=True):
    """One statement of an entry."""

    section: Section
    text: str
    day: str
    entry: str
    session: str

    @property
    def words(self) -> int:
        """How much it says."""
        return len(self.text.split())


class Topic(msgspec.Struct, frozen=True):
    """A thing that statements name."""

    kind: TopicKind
    name: str


def items_of(day: str, entries: Iterable[Entry]) -> list[Item]:
    """Every statement of a log's entries, in order; `day` is the file's name."""
    return [
        Item(section, text, day, entry.key, entry.session)
        for entry in entries
        if entry.section != MAINTENANCE
        for section, text in _statements(entry.content)
    ]


def subject_of(items: Iterable[Item]) -> str:
    """What an entry was about: its context, without how it ended."""
    found = (_OUTCOME.sub("", item.text) for item in items if item.section == "context")
    words = _ADDRESS.sub(" ", _PREFACE.sub("", next(found, "")))
    return one_line(words.replace("#", " ").strip(" :-"))


def is_error(text: str) -> bool:
    """Whether a statement only repeats what a tool complained about."""
    return _SEEN.match(text) is not None


@lru_cache(maxsize=1 << 16)
def topics_of(text: str) -> tuple[Topic, ...]:
    """The things a statement names, each once; every compile looks at all statements again."""
    found = [Topic("file", short_path(match[0])) for match in _FILE.finditer(text)]
    for match in _CODE.finditer(text):
        code = one_line(match[1])
        if _FILE.fullmatch(code):
            continue
        if _COMMAND.fullmatch(code):
            found.append(Topic("command", code))
        elif _SYMBOL.fullmatch(code) and _is_telling(code):
            found.append(Topic("symbol", code))
    seen = _SEEN.match(text)
    if seen:
        template = mask(seen["sample"])
        words = [word for word in template.split() if word.isalpha()]
        if len(words) >= _LEAST_ERROR_WORDS:
            found.append(Topic("error", template))
    return tuple(dict.fromkeys(topic for topic in found if not _EVERYWHERE.fullmatch(topic.name)))


def short_path(spelled: str) -> str:
    """A path without where the project lies: sessions name files from different places."""
    parts = spelled.replace("\\", "/").split("/")
    if spelled.startswith(("/", "~", "..")):
        parts = [part for part in parts if part.strip("~.")][-2:]
    return "/".join(part for part in parts if part != ".")


def _statements(content: str) -> list[tuple[Section, str]]:
    found: list[tuple[Section, str]] = []
    section: Section | None = None
    for line in content.splitlines():
        head = _HEAD.match(line.strip())
        if head:
            section = _SECTIONS[head["name"].casefold()]
            if head["rest"].strip():
                found.append((section, one_line(head["rest"])))
            continue
        bullet = _BULLET.match(line)
        if section and bullet and not _LEFT_OUT.fullmatch(bullet["text"].strip()):
            found.append((section, one_line(bullet["text"])))
        elif section and line.strip() and found and not bullet:
            # A statement that was wrapped goes on.
            found[-1] = (found[-1][0], f"{found[-1][1]} {one_line(line)}")
    return found


def _is_telling(name: str) -> bool:
    """A name of the code, not a plain word that somebody set in code."""
    inner = name[1:]
    return len(name) >= 5 and ("_" in inner or "(" in inner or any(c.isupper() for c in inner))
