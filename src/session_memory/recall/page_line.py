"""One line of a file that is made of sessions, as a search finds it."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

import msgspec

READ_BYTES = 256 * 1024
"""A file that is larger was not written by this program."""


class ToldLine(msgspec.Struct, frozen=True):
    """A line of a MEMORY.md, or a point of an article."""

    name: str
    """What `show` takes."""
    text: str
    events: tuple[int, ...]
    """What it rests on; nothing where the user wrote it, or where it does not say."""
    file: Path
    kind: Literal["memory", "article"] = "memory"


def line_name(letter: str, made_of: str) -> str:
    """A short name; the letter is none of those that names of events and sessions begin with."""
    return letter + hashlib.sha256(made_of.encode("utf-8", "replace")).hexdigest()[:12]
