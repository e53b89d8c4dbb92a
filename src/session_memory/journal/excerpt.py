"""The excerpt of a session: its last turns as one text, of which a flush makes an entry.

Only what the user and the assistant said: as many whole turns as fit, and the newest in any case.
Secrets are removed from each turn before it is cut, since half a secret is not recognised.
"""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import quote, unquote

import msgspec

from session_memory.core.schema import SessionEvent
from session_memory.core.text.own_text import without_own_text
from session_memory.core.text.safe_text import stripped
from session_memory.journal.files import atomic_write_text, read_text
from session_memory.journal.paths import JournalPaths
from session_memory.store.port import SessionReader

MAX_TURNS = 30
MAX_CHARS = 15_000
CUT = "[...] "

Role = Literal["User", "Assistant"]
Clean = Callable[[str], str]
"""Removes secrets and private parts from a text."""
_ROLES: dict[str, Role] = {"user": "User", "assistant": "Assistant"}
_KINDS: dict[str, Role] = {"user_prompt": "User", "assistant_text": "Assistant"}
_LABEL = re.compile(r"^\*\*(User|Assistant):\*\* ", re.MULTILINE)
_MAX_NAME = 120


class Turn(msgspec.Struct, frozen=True):
    """What one side said."""

    role: Role
    text: str

    def labelled(self) -> str:
        """The turn with its label."""
        return f"**{self.role}:** {self.text}\n"


def turns_of_session(store: SessionReader, session_id: int) -> list[Turn]:
    """The last turns of a session in the store."""
    spoken = (event for event in store.events(session_id) if event.kind in _KINDS)
    # Some contain nothing but our own injected text, so more are read than are needed.
    latest = deque[SessionEvent](spoken, maxlen=4 * MAX_TURNS)
    turns = [_turn(_KINDS[event.kind], store.text(event)) for event in latest]
    return [turn for turn in turns if turn is not None][-MAX_TURNS:]


def turns_of_transcript(lines: Iterable[str]) -> list[Turn]:
    """The last turns of a raw log; a line is a message or has one under `message`."""
    turns = deque[Turn](maxlen=MAX_TURNS)
    for line in lines:
        try:
            row: object = msgspec.json.decode(line.encode("utf-8", "replace"))
        except (msgspec.DecodeError, RecursionError):
            continue
        turn = _turn_of_row(row)
        if turn is not None:
            turns.append(turn)
    return list(turns)


def make_excerpt(turns: Sequence[Turn], clean: Clean) -> str:
    """The last turns that fit, oldest first; if the last one is too long, its end."""
    cleaned = [Turn(turn.role, clean(turn.text).strip()) for turn in turns[-MAX_TURNS:]]
    newest_first: list[str] = []
    room = MAX_CHARS
    for turn in reversed(cleaned):
        text = turn.labelled()
        room -= len(text) + 1
        if room < 0:
            break
        newest_first.append(text)
    if cleaned and not newest_first:
        newest_first = [_end_of(cleaned[-1])]
    return "\n".join(reversed(newest_first))


def turns_in(excerpt: str) -> list[Turn]:
    """The turns of an excerpt."""
    parts = _LABEL.split(excerpt)[1:]
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return [Turn(_ROLES[role.lower()], text.strip()) for role, text in pairs]


def write_excerpt(journal: JournalPaths, session: str, watermark: int, text: str) -> Path:
    """Write an excerpt for a flush; the same job always writes the same file."""
    path = journal.excerpts / f"{file_name(session)}--{watermark}.md"
    if read_text(path) != text:
        atomic_write_text(path, text)
    return path


def file_name(session: str) -> str:
    """A session's id in file names: readable, valid on every file system, not too long."""
    name = quote(session, safe="")
    return name if len(name) <= _MAX_NAME else hashlib.sha256(session.encode()).hexdigest()


def session_of(path: Path) -> str:
    """The session of an excerpt's file; an id that was too long stays a hash."""
    return unquote(path.stem.rpartition("--")[0] or path.stem)


def content_hash(text: str) -> str:
    """What identifies an excerpt's content."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _end_of(turn: Turn) -> str:
    room = MAX_CHARS - len(Turn(turn.role, CUT).labelled()) - 1
    return Turn(turn.role, CUT + turn.text[-room:]).labelled()


def _turn(role: Role, text: str) -> Turn | None:
    spoken = stripped(without_own_text(text)).strip()
    return Turn(role, spoken) if spoken else None


def _turn_of_row(row: object) -> Turn | None:
    if not isinstance(row, dict):
        return None
    outer = cast("dict[str, Any]", row)
    inner: object = outer.get("message")
    message = cast("dict[str, Any]", inner) if isinstance(inner, dict) else outer
    role: object = message.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        return None
    return _turn(_ROLES[role], _text_of(message.get("content")))


def _text_of(content: object) -> str:
    """The text of a message: a plain string, or its blocks of type text."""
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for block in cast("list[object]", content) if isinstance(content, list) else []:
        if isinstance(block, str):
            texts.append(block)
        elif isinstance(block, dict):
            part = cast("dict[str, object]", block)
            if part.get("type") == "text" and isinstance(part.get("text"), str):
                texts.append(cast(str, part["text"]))
    return "\n".join(texts)
