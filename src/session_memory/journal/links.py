"""Wikilinks in a text: `[[target]]` and `[[target|shown]]`, as Obsidian reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

_FENCE = re.compile(r"^(?P<mark>`{3,}|~{3,})[^\n]*\n.*?(?:^(?P=mark)[^\n]*$|\Z)", re.M | re.S)
_CODE_SPAN = re.compile(r"(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)", re.S)
_LINK = re.compile(r"\[\[([^\[\]|#\n]+)(#[^\[\]|\n]*)?(\|[^\[\]\n]*)?\]\]")


@lru_cache(maxsize=4096)
def link_targets(text: str) -> tuple[str, ...]:
    """What a text links to, in order and each once; links in code do not count."""
    plain = _CODE_SPAN.sub(" ", _FENCE.sub("\n", text)) if "`" in text or "~~~" in text else text
    return tuple(dict.fromkeys(normal_target(match[1]) for match in _LINK.finditer(plain)))


def normal_target(target: str) -> str:
    """One spelling of a target: articles may be named with or without their suffix."""
    return target.strip().removesuffix(".md")


def link(target: str) -> str:
    """A link to an article."""
    return f"[[{target}]]"


def day_link(name: str) -> str:
    """A link to the log of a day such as `2026-03-02.md`; with its suffix, unlike an article's."""
    return f"[[daily/{name}]]"


def drop_dead_links(text: str, exists: Callable[[str], bool]) -> str:
    """The text with links to missing targets turned into plain words."""

    def replacement(match: re.Match[str]) -> str:
        if exists(normal_target(match[1])):
            return match[0]
        return (match[3] or "|" + match[1])[1:].strip()

    return _LINK.sub(replacement, text)


def without_links(text: str) -> str:
    """Foreign text in which nothing is left that links or hides."""
    plain = drop_dead_links(text, lambda _target: False).replace("[[", "[ [").replace("]]", "] ]")
    return plain.replace("<!--", "&lt;!--").replace("-->", "--&gt;")
