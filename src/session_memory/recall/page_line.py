"""One line of a file that is made of sessions, as a search finds it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

import msgspec

READ_BYTES = 256 * 1024
"""Larger files were not written by this program and are not read."""


class PageLine(msgspec.Struct, frozen=True):
    """A line of a MEMORY.md, or a point of an article."""

    name: str
    """What `show` takes."""
    text: str
    events: tuple[int, ...]
    """The events it cites; none where the user wrote it, or where it cites none."""
    file: Path
    kind: Literal["memory", "article"] = "memory"


def line_name(letter: str, made_of: str) -> str:
    """A short name; no name of an event or session begins with one of these letters."""
    return letter + hashlib.sha256(made_of.encode("utf-8", "replace")).hexdigest()[:12]
