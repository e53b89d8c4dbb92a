"""The last turns of a session as one text: what a flush makes an entry of.

Only what user and assistant said; whole turns, as many as fit, the newest for certain. Secrets are
taken out of each turn before it is cut, since half a secret is no longer recognised.
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
from session_memory.journal.paths import Place
from session_memory.store.port import Store

MAX_TURNS = 30
MAX_CHARS = 15_000
CUT = "[...] "

Role = Literal["User", "Assistant"]
Clean = Callable[[str], str]
_ROLES: dict[str, Role] = {"user": "User", "assistant": "Assistant"}
_KINDS: dict[str, Role] = {"user_prompt": "User", "assistant_text": "Assistant"}
_LABEL = re.compile(r"^\*\*(User|Assistant):\*\* ", re.MULTILINE)
_MAX_NAME = 120


class Turn(msgspec.Struct, frozen=True):
    """What one side said."""

    role: Role
    text: str

    def shown(self) -> str:
        """The turn under its label."""
        return f"**{self.role}:** {self.text}\n"


def turns_of_session(store: Store, session_id: int, count: int = MAX_TURNS) -> list[Turn]:
    """The last turns that the store holds of a session, whatever agent it was of."""
    spoken = (event for event in store.events(session_id) if event.kind in _KINDS)
    # Some hold nothing but our own injections, so a few more are looked at than are needed.
    latest = deque[SessionEvent](spoken, maxlen=4 * count)
    found = [_turn(_KINDS[event.kind], store.text(event)) for event in latest]
    return [turn for turn in found if turn is not None][-count:]


def turns_of_transcript(lines: Iterable[str], count: int = MAX_TURNS) -> list[Turn]:
    """The last turns of a raw log: the message stands under `message`, or is the line itself."""
    turns = deque[Turn](maxlen=count)
    for line in lines:
        try:
            row: object = msgspec.json.decode(line.encode("utf-8", "replace"))
        except (msgspec.DecodeError, RecursionError):
            continue
        turn = _turn_of_row(row)
        if turn is not None:
            turns.append(turn)
    return list(turns)


def make_context(turns: Sequence[Turn], clean: Clean) -> str:
    """The last turns that fit, oldest first; of a last turn that is too long, its end."""
    texts = [Turn(turn.role, clean(turn.text).strip()) for turn in turns[-MAX_TURNS:]]
    kept: list[str] = []
    room = MAX_CHARS
    for turn in reversed(texts):
        shown = turn.shown()
        room -= len(shown) + 1
        if room < 0:
            break
        kept.append(shown)
    if texts and not kept:
        kept = [_end_of(texts[-1])]
    return "\n".join(reversed(kept))


def turns_in(context: str) -> list[Turn]:
    """The turns of a context that was made before."""
    parts = _LABEL.split(context)[1:]
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return [Turn(_ROLES[role.lower()], text.strip()) for role, text in pairs]


def write_context(place: Place, session: str, watermark: int, text: str) -> Path:
    """Put a context down for a flush; done again for the same job it is the same file."""
    path = place.contexts / f"{file_name(session)}--{watermark}.md"
    if read_text(path) != text:
        atomic_write_text(path, text)
    return path


def file_name(session: str) -> str:
    """A session's name in file names: readable, fit for every file system, not too long."""
    name = quote(session, safe="")
    return name if len(name) <= _MAX_NAME else hashlib.sha256(session.encode()).hexdigest()


def session_of(path: Path) -> str:
    """The session of a context file; a name that was too long stays a hash."""
    return unquote(path.stem.rpartition("--")[0] or path.stem)


def content_hash(text: str) -> str:
    """What the same content is recognised by."""
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _end_of(turn: Turn) -> str:
    room = MAX_CHARS - len(Turn(turn.role, CUT).shown()) - 1
    return Turn(turn.role, CUT + turn.text[-room:]).shown()


def _turn(role: Role, text: str) -> Turn | None:
    said = stripped(without_own_text(text)).strip()
    return Turn(role, said) if said else None


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
    """The words of a message: a plain text, or its blocks of type text."""
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
