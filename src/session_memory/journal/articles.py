"""An article of the knowledge base: front matter that editors for notes read, then its text.

A line of evidence ends with a link to the day it was said and, in a comment, with the key of the
entry, so that `forget` finds every line a session left.
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
"""Names no file may have on Windows."""
_MARK = re.compile(r"<!-- entry=([0-9a-f,]+) -->[ \t]*$")


class BadArticleError(SessionMemoryError):
    """A file in knowledge/ that is no article."""

    code = "bad_article"


class Article(msgspec.Struct, frozen=True):
    """One file below knowledge/; `path` is how links name it, such as `concepts/retries`."""

    path: str
    front: dict[str, Value]
    body: str

    @property
    def kind(self) -> Kind:
        """The folder it lies in."""
        return cast(Kind, self.path.partition("/")[0])

    @property
    def title(self) -> str:
        """Its name for people."""
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
        """Everything it is known by, as compared."""
        spelled = (self.title, self.path.partition("/")[2], *list_of(self.front.get("aliases", ())))
        return frozenset(filter(None, map(slug, spelled)))


def text_of(value: Value) -> str:
    """A value as one text."""
    return value if isinstance(value, str) else ", ".join(value)


def list_of(value: Value) -> tuple[str, ...]:
    """A value as a list; a plain word is a list of one."""
    return ((value,) if value else ()) if isinstance(value, str) else value


@lru_cache(maxsize=1 << 14)
def slug(title: str) -> str:
    """A file name for a title, fit for every file system."""
    words = "-".join(re.findall(r"[^\W_]+", title.casefold()))
    if _RESERVED.fullmatch(words):
        return f"{words}-file"
    if len(words) <= MAX_SLUG:
        return words
    return words[:MAX_SLUG].rpartition("-")[0] or words[:MAX_SLUG]


def parse(path: str, text: str) -> Article:
    """The article in a file; raises BadArticleError, with what is wrong."""
    found = _FRONT.match(text.replace("\r\n", "\n"))
    if found is None:
        raise BadArticleError(f"{path}: no front matter")
    body = text.replace("\r\n", "\n")[found.end() :].strip("\n")
    article = Article(path, _front(found["front"]), body)
    wrong = next(iter(faults(article)), None)
    if wrong is not None:
        raise BadArticleError(f"{path}: {wrong}")
    return article


def faults(article: Article) -> list[str]:
    """What an article lacks; nothing for a sound one."""
    if article.kind not in KINDS:
        return [f"not in one of {', '.join(KINDS)}"]
    found = [
        f"no `{key}` in the front matter" for key in KEYS[article.kind] if _lacks(article, key)
    ]
    if article.kind == "connections" and len(list_of(article.front.get("connects", ()))) < 2:
        found.append("connects fewer than two articles")
    return found


def render(article: Article) -> str:
    """The file: listed keys in their order, then whatever a person added."""
    known = KEYS[article.kind]
    keys = [*known, *(key for key in article.front if key not in known)]
    lines = [
        f"{key}: {_spelled(article.front[key], plain=key not in known)}"
        for key in keys
        if key in article.front
    ]
    return "\n".join(("---", *lines, "---", "", article.body.strip("\n"))) + "\n"


def point(text: str, day: str, entry: str) -> str:
    """A line of evidence."""
    mark = f" <!-- entry={entry} -->" if entry else ""
    return f"- {text} ({day_link(day)}){mark}"


def marks(line: str) -> frozenset[str]:
    """Keys of the entries a line comes from."""
    found = _MARK.search(line)
    return frozenset(found[1].split(",")) if found else frozenset()


@lru_cache(maxsize=4096)
def entry_marks(body: str) -> frozenset[str]:
    """Keys of all entries an article comes from."""
    return frozenset(key for line in body.splitlines() for key in marks(line))


def points_of(body: str) -> list[str]:
    """The lines of evidence of an article."""
    return [line for line in body.splitlines() if line.startswith("- ") and "[[daily/" in line]


def section_lines(body: str, name: str) -> list[str]:
    """The lines below a heading, up to the next one."""
    found: list[str] = []
    inside = False
    for line in body.splitlines():
        if line.startswith("## "):
            inside = line[3:].strip() == name
        elif inside and line.strip():
            found.append(line)
    return found


def with_lines(body: str, name: str, lines: Iterable[str]) -> str:
    """The text with lines added at the end of a section, which is made where there is none."""
    have = set(section_lines(body, name))
    fresh = [line for line in dict.fromkeys(lines) if line not in have]
    if not fresh:
        return body
    rows = body.rstrip("\n").splitlines()
    heads = [at for at, row in enumerate(rows) if row.startswith("## ")]
    start = next((at for at in heads if rows[at][3:].strip() == name), None)
    if start is None:
        # Links to others stand last.
        end = next((at for at in heads if rows[at][3:].strip() == RELATED), len(rows))
        return "\n".join(
            (*rows[:end], *_gap(rows[:end]), f"## {name}", "", *fresh, "", *rows[end:])
        )
    end = next((at for at in heads if at > start), len(rows))
    while end > start + 1 and not rows[end - 1].strip():
        end -= 1
    gap = [""] if end == start + 1 else []
    return "\n".join((*rows[:end], *gap, *fresh, *rows[end:]))


def _gap(rows: list[str]) -> tuple[str, ...]:
    return ("",) if rows and rows[-1].strip() else ()


def _lacks(article: Article, key: str) -> bool:
    """Lists may be empty, but of sources: knowledge comes from somewhere."""
    value = article.front.get(key)
    return value is None or (not value and key not in ("aliases", "tags", "consulted"))


def _front(text: str) -> dict[str, Value]:
    """Keys with values: plain or quoted words, `[a, b]`, or a list of `- a` lines below the key."""
    front: dict[str, Value] = {}
    last = ""
    for line in text.splitlines():
        found = _KEY.match(line)
        if found:
            last = found[1]
            front[last] = _value(last, found[2].strip())
        elif line.strip().startswith("- ") and last:
            front[last] = (*list_of(front[last]), _word(line.strip()[2:]))
    return front


def _value(key: str, spelled: str) -> Value:
    if spelled.startswith("["):
        return _flow(spelled)
    word = _word(spelled)
    return list_of(word) if key in LISTS else word


def _flow(spelled: str) -> tuple[str, ...]:
    try:
        return tuple(msgspec.json.decode(spelled, type=list[str]))
    except (msgspec.DecodeError, msgspec.ValidationError):
        parts = spelled.strip("[] ").split(",")
        return tuple(_word(part) for part in parts if part.strip())


def _word(spelled: str) -> str:
    spelled = spelled.strip()
    if len(spelled) > 1 and spelled[0] == spelled[-1] == '"':
        try:
            return msgspec.json.decode(spelled, type=str)
        except (msgspec.DecodeError, msgspec.ValidationError):
            return spelled[1:-1]
    if len(spelled) > 1 and spelled[0] == spelled[-1] == "'":
        return spelled[1:-1].replace("''", "'")
    return spelled


def _spelled(value: Value, *, plain: bool) -> str:
    """JSON is YAML, and has no surprises; a bare date stays a date, a person's number a number."""
    bare = r"[\w.-]+" if plain else r"\d{4}-\d{2}-\d{2}[\dT:+.-]*"
    if isinstance(value, str) and re.fullmatch(bare, value):
        return value
    if isinstance(value, tuple):
        return "[" + ", ".join(_quoted(one) for one in value) + "]"
    return _quoted(value)


def _quoted(word: str) -> str:
    return msgspec.json.encode(word.encode("utf-8", "replace").decode()).decode()
