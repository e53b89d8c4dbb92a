"""An article of the knowledge base: front matter that note-taking editors read, then its text.

A point ends with a link to its day and, in a comment, the key of its entry, so that `forget` finds
every line that a session left.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, cast

import msgspec

from session_memory.errors import SessionMemoryError
from session_memory.journal.links import day_link

Kind = Literal["concepts", "connections", "qa"]
Value = str | tuple[str, ...]
KINDS: tuple[Kind, ...] = ("concepts", "connections", "qa")
KEYS: dict[Kind, tuple[str, ...]] = {
    "concepts": ("title", "aliases", "tags", "sources", "created", "updated"),
    "connections": ("title", "connects", "sources", "created", "updated"),
    "qa": ("title", "question", "consulted", "filed"),
}
LISTS = ("aliases", "tags", "sources", "connects", "consulted")
POINTS = "Key Points"
RELATED = "Related"
MAX_SLUG = 60
_FRONT = re.compile(r"\A---\n(?P<front>.*?)^---[ \t]*\n", re.DOTALL | re.MULTILINE)
_KEY = re.compile(r"([A-Za-z_][\w-]*):[ \t]*(.*)")
_RESERVED = re.compile(r"con|prn|aux|nul|(?:com|lpt)\d")
"""Names that files cannot have on Windows."""
_ENTRY_KEYS = re.compile(r"<!-- entry=([0-9a-f,]+) -->[ \t]*$")


class BadArticleError(SessionMemoryError):
    """A file in knowledge/ that is not a valid article."""

    code = "bad_article"


class Article(msgspec.Struct, frozen=True):
    """One file of knowledge/; `path` is its name in links, such as `concepts/retries`."""

    path: str
    front: dict[str, Value]
    body: str

    @property
    def kind(self) -> Kind:
        """The folder it is in."""
        return cast(Kind, self.path.partition("/")[0])

    @property
    def title(self) -> str:
        """Its title for people."""
        return text_of(self.front.get("title", ""))

    @property
    def sources(self) -> tuple[str, ...]:
        """Days it was compiled from, such as `daily/2026-03-02.md`."""
        return list_of(self.front.get("sources", ()))

    @property
    def updated(self) -> str:
        """The date of its last change."""
        return text_of(self.front.get("updated") or self.front.get("filed", ""))

    @property
    def names(self) -> frozenset[str]:
        """The slugs of its title, file name and aliases."""
        names = (self.title, self.path.partition("/")[2], *list_of(self.front.get("aliases", ())))
        return frozenset(filter(None, map(slug, names)))


def text_of(value: Value) -> str:
    """A value as one text."""
    return value if isinstance(value, str) else ", ".join(value)


def list_of(value: Value) -> tuple[str, ...]:
    """A value as a list; a plain string is a list of one."""
    return ((value,) if value else ()) if isinstance(value, str) else value


@lru_cache(maxsize=1 << 14)
def slug(title: str) -> str:
    """A file name for a title, valid on every file system."""
    words = "-".join(re.findall(r"[^\W_]+", title.casefold()))
    if _RESERVED.fullmatch(words):
        return f"{words}-file"
    if len(words) <= MAX_SLUG:
        return words
    return words[:MAX_SLUG].rpartition("-")[0] or words[:MAX_SLUG]


def parse(path: str, text: str) -> Article:
    """The article in a file; raises BadArticleError, saying what is wrong."""
    text = text.replace("\r\n", "\n")
    match = _FRONT.match(text)
    if match is None:
        raise BadArticleError(f"{path}: no front matter")
    article = Article(path, _parse_front(match["front"]), text[match.end() :].strip("\n"))
    fault = next(iter(faults(article)), None)
    if fault is not None:
        raise BadArticleError(f"{path}: {fault}")
    return article


def faults(article: Article) -> list[str]:
    """What an article lacks; empty for a valid one."""
    if article.kind not in KINDS:
        return [f"not in one of {', '.join(KINDS)}"]
    missing = [
        f"no `{key}` in the front matter" for key in KEYS[article.kind] if _lacks(article, key)
    ]
    if article.kind == "connections" and len(list_of(article.front.get("connects", ()))) < 2:
        missing.append("connects fewer than two articles")
    return missing


def render(article: Article) -> str:
    """The file: our keys in their order, then whatever a person added."""
    ours = KEYS[article.kind]
    keys = [*ours, *(key for key in article.front if key not in ours)]
    lines = [
        f"{key}: {_render_value(article.front[key], plain=key not in ours)}"
        for key in keys
        if key in article.front
    ]
    return "\n".join(("---", *lines, "---", "", article.body.strip("\n"))) + "\n"


def point_line(text: str, day: str, entry: str) -> str:
    """A point as a line, with its day and the key of its entry."""
    mark = f" <!-- entry={entry} -->" if entry else ""
    return f"- {text} ({day_link(day)}){mark}"


def entry_keys(line: str) -> frozenset[str]:
    """Keys of the entries that a line comes from."""
    match = _ENTRY_KEYS.search(line)
    return frozenset(match[1].split(",")) if match else frozenset()


@lru_cache(maxsize=4096)
def entry_keys_in(body: str) -> frozenset[str]:
    """Keys of all entries that an article comes from."""
    return frozenset(key for line in body.splitlines() for key in entry_keys(line))


def points_of(body: str) -> list[str]:
    """The points of an article, as lines."""
    return [line for line in body.splitlines() if line.startswith("- ") and "[[daily/" in line]


def section_lines(body: str, name: str) -> list[str]:
    """The lines below a heading, up to the next one."""
    lines: list[str] = []
    inside = False
    for line in body.splitlines():
        if line.startswith("## "):
            inside = line[3:].strip() == name
        elif inside and line.strip():
            lines.append(line)
    return lines


def with_lines(body: str, name: str, lines: Iterable[str]) -> str:
    """The text with lines added at the end of a section, which is created if it is missing."""
    present = set(section_lines(body, name))
    added = [line for line in dict.fromkeys(lines) if line not in present]
    if not added:
        return body
    rows = body.rstrip("\n").splitlines()
    headings = [number for number, row in enumerate(rows) if row.startswith("## ")]
    start = next((number for number in headings if rows[number][3:].strip() == name), None)
    if start is None:
        # The section with links to other articles stays last.
        related = (number for number in headings if rows[number][3:].strip() == RELATED)
        end = next(related, len(rows))
        return "\n".join(
            (*rows[:end], *_gap(rows[:end]), f"## {name}", "", *added, "", *rows[end:])
        )
    end = next((number for number in headings if number > start), len(rows))
    while end > start + 1 and not rows[end - 1].strip():
        end -= 1
    gap = [""] if end == start + 1 else []
    return "\n".join((*rows[:end], *gap, *added, *rows[end:]))


def _gap(rows: list[str]) -> tuple[str, ...]:
    return ("",) if rows and rows[-1].strip() else ()


def _lacks(article: Article, key: str) -> bool:
    """Whether a key is missing, or empty although it must not be, as `sources`."""
    value = article.front.get(key)
    return value is None or (not value and key not in ("aliases", "tags", "consulted"))


def _parse_front(text: str) -> dict[str, Value]:
    """Keys with values: plain or quoted, `[a, b]`, or a list of `- a` lines below the key."""
    front: dict[str, Value] = {}
    last = ""
    for line in text.splitlines():
        match = _KEY.match(line)
        if match:
            last = match[1]
            front[last] = _parse_value(last, match[2].strip())
        elif line.strip().startswith("- ") and last:
            front[last] = (*list_of(front[last]), _parse_scalar(line.strip()[2:]))
    return front


def _parse_value(key: str, text: str) -> Value:
    if text.startswith("["):
        return _parse_flow_list(text)
    value = _parse_scalar(text)
    return list_of(value) if key in LISTS else value


def _parse_flow_list(text: str) -> tuple[str, ...]:
    try:
        return tuple(msgspec.json.decode(text, type=list[str]))
    except (msgspec.DecodeError, msgspec.ValidationError):
        parts = text.strip("[] ").split(",")
        return tuple(_parse_scalar(part) for part in parts if part.strip())


def _parse_scalar(text: str) -> str:
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] == '"':
        try:
            return msgspec.json.decode(text, type=str)
        except (msgspec.DecodeError, msgspec.ValidationError):
            return text[1:-1]
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1].replace("''", "'")
    return text


def _render_value(value: Value, *, plain: bool) -> str:
    """JSON is valid YAML without surprises; bare dates, and a person's plain values, stay bare."""
    bare = r"[\w.-]+" if plain else r"\d{4}-\d{2}-\d{2}[\dT:+.-]*"
    if isinstance(value, str) and re.fullmatch(bare, value):
        return value
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_quoted, value)) + "]"
    return _quoted(value)


def _quoted(text: str) -> str:
    return msgspec.json.encode(text.encode("utf-8", "replace").decode()).decode()
