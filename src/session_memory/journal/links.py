"""Wikilinks of a text: `[[target]]` and `[[target|shown]]`, as Obsidian reads them."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

_FENCE = re.compile(r"^(?P<mark>`{3,}|~{3,})[^\n]*\n.*?(?:^(?P=mark)[^\n]*$|\Z)", re.M | re.S)
_SPAN = re.compile(r"(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)", re.S)
_LINK = re.compile(r"\[\[([^\[\]|#\n]+)(#[^\[\]|\n]*)?(\|[^\[\]\n]*)?\]\]")


@lru_cache(maxsize=4096)
def targets(text: str) -> tuple[str, ...]:
    """What a text links to, in order and each once; code is not looked into."""
    plain = _SPAN.sub(" ", _FENCE.sub("\n", text)) if "`" in text or "~~~" in text else text
    return tuple(dict.fromkeys(normal(found[1]) for found in _LINK.finditer(plain)))


def normal(target: str) -> str:
    """One spelling of a target: an article may be named with or without its suffix."""
    return target.strip().removesuffix(".md")


def link(target: str) -> str:
    """A link to an article; days are linked with their suffix, as their own heading is a date."""
    return f"[[{target}]]"


def day_link(name: str) -> str:
    """A link to the log of a day such as `2026-03-02.md`."""
    return f"[[daily/{name}]]"


def keeping(text: str, is_there: Callable[[str], bool]) -> str:
    """The text with links to what is not there turned into plain words."""

    def shown(found: re.Match[str]) -> str:
        if is_there(normal(found[1])):
            return found[0]
        return (found[3] or "|" + found[1])[1:].strip()

    return _LINK.sub(shown, text)


def without_links(text: str) -> str:
    """Words that others said, with nothing left in them that links or hides."""
    plain = keeping(text, lambda _target: False).replace("[[", "[ [").replace("]]", "] ]")
    return plain.replace("<!--", "&lt;!--").replace("-->", "--&gt;")
