"""The statements in a log's entries, and what they name: files, commands, errors, symbols."""

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
_HEADING = re.compile(
    r"^(?:\*\*|#{1,6} *)(?P<name>"
    + "|".join(_SECTIONS)
    + r")(?::\*\*|\*\*:?|:?)(?P<rest>(?:\s.*)?)$",
    re.IGNORECASE,
)
_BULLET = re.compile(r"^\s*(?:[-*+]|\d+[.)]) +(?P<text>.+)$")
_MORE = re.compile(r"\(\d+ more\)")
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
_ERROR = re.compile(r"^Seen \d+ times: (?P<sample>.+)$")
_ADDRESS = re.compile(r"\bhttps?://\S+")
_PREFACE = re.compile(r"^(?:please )?implement the following plan:?\s*(?:#+\s*)?(?:plan:)?", re.I)
_TRAP = re.compile(r"^`(?P<failed>[^`]+)` fails \(")
_MENDS = re.compile(r"^What `[^`]+` finds, ")
_PRODUCT = re.compile(r"[A-Z]\w*\.js")  # such as Next.js, which is not a file
_TEXT_FILE = re.compile(r"\.(?:mdx?|json|jsonl|ya?ml|toml|lock|ini|cfg|xml|html|css|scss)$")
_EVERYWHERE = re.compile(
    r"(?:README|CHANGELOG|AGENTS|CLAUDE)\.md|package(?:-lock)?\.json"
    r"|(?:git|gh|cd|ls|cat|npm|pnpm|yarn) [\w-]+(?: \.| -\w+)*",
    re.I,
)
"""Names that occur in every project, so that repeating them means nothing."""
_LEAST_ERROR_WORDS = 3


class Statement(msgspec.Struct, frozen=True):
    """One statement of an entry."""

    section: Section
    text: str
    day: str
    entry: str
    session: str

    @property
    def words(self) -> int:
        """Its length in words."""
        return len(self.text.split())


class Topic(msgspec.Struct, frozen=True):
    """Something that statements name."""

    kind: TopicKind
    name: str


def statements_of(day: str, entries: Iterable[Entry]) -> list[Statement]:
    """Every statement of a log's entries, in order; `day` is the name of the log's file."""
    return [
        Statement(section, text, day, entry.key, entry.session)
        for entry in entries
        if entry.section != MAINTENANCE
        for section, text in _parse_statements(entry.content)
    ]


def subject_of(statements: Iterable[Statement]) -> str:
    """What an entry is about: its context, without the outcome."""
    contexts = (
        _OUTCOME.sub("", statement.text)
        for statement in statements
        if statement.section == "context"
    )
    words = _ADDRESS.sub(" ", _PREFACE.sub("", next(contexts, "")))
    return one_line(words.replace("#", " ").strip(" :-"))


def is_trap(statement: Statement) -> bool:
    """Whether a statement says that a call fails here."""
    return _TRAP.match(statement.text) is not None


@lru_cache(maxsize=1 << 16)
def topics_of(text: str) -> tuple[Topic, ...]:
    """What a statement names; cached, since every compile looks at all statements again."""
    trap = _TRAP.match(text)
    if trap is not None:  # what works instead is not a topic of its own
        return (Topic("command", f"{one_line(trap['failed'])} fails"),)
    if _MENDS.match(text):
        return ()
    topics = [
        Topic("file", short_path(match[0]))
        for match in _FILE.finditer(text)
        if not _PRODUCT.fullmatch(match[0]) and not _TEXT_FILE.search(match[0])
    ]
    for match in _CODE.finditer(text):
        code = one_line(match[1])
        if _FILE.fullmatch(code):
            continue
        if _COMMAND.fullmatch(code):
            topics.append(Topic("command", code))
        elif _SYMBOL.fullmatch(code) and _is_code_name(code):
            topics.append(Topic("symbol", code))
    error = _ERROR.match(text)
    if error:
        template = mask(error["sample"])
        words = [word for word in template.split() if word.isalpha()]
        if len(words) >= _LEAST_ERROR_WORDS:
            topics.append(Topic("error", template))
    return tuple(dict.fromkeys(topic for topic in topics if not _EVERYWHERE.fullmatch(topic.name)))


def short_path(path: str) -> str:
    """A path without the location of the project, which differs between sessions."""
    parts = path.replace("\\", "/").split("/")
    if path.startswith(("/", "~", "..")):
        parts = [part for part in parts if part.strip("~.")][-2:]
    return "/".join(part for part in parts if part != ".")


def _parse_statements(content: str) -> list[tuple[Section, str]]:
    statements: list[tuple[Section, str]] = []
    section: Section | None = None
    for line in content.splitlines():
        heading = _HEADING.match(line.strip())
        if heading:
            section = _SECTIONS[heading["name"].casefold()]
            if heading["rest"].strip():
                statements.append((section, one_line(heading["rest"])))
            continue
        bullet = _BULLET.match(line)
        if section and bullet and not _MORE.fullmatch(bullet["text"].strip()):
            statements.append((section, one_line(bullet["text"])))
        elif section and line.strip() and statements and not bullet:
            # The continuation of a wrapped statement.
            last_section, text = statements[-1]
            statements[-1] = (last_section, f"{text} {one_line(line)}")
    return statements


def _is_code_name(name: str) -> bool:
    """Whether a symbol is a name of the code, not a plain word set in code."""
    inner = name[1:]
    return len(name) >= 5 and ("_" in inner or "(" in inner or any(c.isupper() for c in inner))
