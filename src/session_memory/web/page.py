"""A page before it is HTML: which template, and what it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from session_memory.web.context import WebContext


class Page(msgspec.Struct, frozen=True):
    """A template and its values."""

    template: str
    values: dict[str, Any] = {}
    status: int = 200


class GoTo(msgspec.Struct, frozen=True):
    """A redirect after a decision, and a note on what was done."""

    path: str
    note: str = ""


class Download(msgspec.Struct, frozen=True):
    """A file for the user to keep."""

    name: str
    type: str
    text: str


class PageRequest(msgspec.Struct, frozen=True):
    """A request as the pages see it."""

    path: Mapping[str, str]
    """The variable parts of its address."""
    query: Mapping[str, str]
    form: Mapping[str, str]

    def number(self, name: str, default: int, *, least: int = 0, most: int = 1_000_000_000) -> int:
        """A number of the query; anything else counts as the default."""
        text = self.query.get(name, "")
        return max(least, min(most, int(text))) if text.isdecimal() and len(text) < 12 else default

    def word(self, name: str) -> str | None:
        """A word of the query; None where it is blank."""
        return self.query.get(name, "").strip() or None


Made = Page | GoTo | Download
Handler = Callable[[WebContext, PageRequest], Made]
