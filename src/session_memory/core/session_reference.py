"""How a person or a program names one session, the same in every command and in Python.

42             the store's number, as every list prints it; digits alone mean nothing else
1f6a2c         the agent's own id, whole or by a beginning that fits one session only
id:123456      the same, marked as the agent's own id: needed where it is digits alone
codex:1f6a2c   the same, of this agent
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from session_memory.core.text.safe_text import one_line
from session_memory.errors import Ambiguous, NotFound, UsageError

MARK = "id:"
LISTED = 6
_LONGEST_NUMBER = 18
"""Digits that always fit into a 64-bit integer."""
_LONGEST_ID = 1_000
"""No agent's id is longer, and the database looks for no longer beginning."""


class SessionName(msgspec.Struct, frozen=True):
    """A session found by number or id."""

    number: int
    native_id: str
    flavor: str = ""
    title: str | None = None


class Lookup(msgspec.Struct, frozen=True):
    """The two lookups that resolve a reference."""

    numbered: Callable[[int], Sequence[SessionName]]
    """The session of that number, or none."""
    called: Callable[[str], Sequence[SessionName]]
    """Sessions whose own id begins so, and sub-agents whose part behind the colon is just that."""
    noun: str = "session"
    lists: str = "`session-memory sessions` lists them"


def find(text: str, lookup: Lookup) -> int:
    """The number of the one session that is meant; raises NotFound, Ambiguous or UsageError."""
    reference = text.strip()
    native = reference.removeprefix(MARK)
    if not native:
        raise UsageError(f"no {lookup.noun} is named: the reference is empty", hint=lookup.lists)
    if len(native) > _LONGEST_ID:
        shown = one_line(native[:20])
        raise NotFound(
            f"no {lookup.noun} {shown}… of {len(native):,} characters", hint=lookup.lists
        )
    if native == reference and native.isascii() and native.isdigit():
        return _numbered(native, lookup)
    try:
        native.encode()
    except UnicodeEncodeError:  # bytes that are not text: no id holds them, and no store takes them
        raise NotFound(f"no {lookup.noun} {one_line(native)!r}", hint=lookup.lists) from None
    return _called(native, lookup)


def _numbered(digits: str, lookup: Lookup) -> int:
    # We print no number with a leading zero, so this is the beginning of an id.
    plain = not digits.startswith("0") and len(digits) <= _LONGEST_NUMBER
    numbered = lookup.numbered(int(digits)) if plain else ()
    if numbered:
        return numbered[0].number
    try:
        called = _fitting(digits, lookup)
    except Ambiguous as error:
        hint = f"as the beginning of an id, {error.message}"
    else:
        hint = f"`{MARK}{digits}` names {_shown(called)}" if called else lookup.lists
    raise NotFound(f"no {lookup.noun} has the number {digits}", hint=hint)


def _called(native: str, lookup: Lookup) -> int:
    session = _fitting(native, lookup)
    if session is None:
        raise NotFound(f"no {lookup.noun} {native!r}", hint=lookup.lists)
    return session.number


def _fitting(native: str, lookup: Lookup) -> SessionName | None:
    """The one session with this id, or with this beginning of an id; raises Ambiguous."""
    near = lookup.called(native) or _of_agent(native, lookup)
    fits = [session for session in near if session.native_id == native] or _without_subagents(near)
    if len(fits) > 1:
        shown = "; ".join(_shown(session) for session in fits[:LISTED])
        more = f"; and {len(fits) - LISTED} more" if len(fits) > LISTED else ""
        raise Ambiguous(
            f"{native!r} fits {len(fits)} {lookup.noun}s: {shown}{more}",
            hint="name one by its number, or give more of its id",
        )
    return fits[0] if fits else None


def _of_agent(native: str, lookup: Lookup) -> Sequence[SessionName]:
    agent, _, rest = native.partition(":")
    near = [session for session in lookup.called(rest) if session.flavor == agent] if rest else []
    return [session for session in near if session.native_id == rest] or near


def _without_subagents(near: Sequence[SessionName]) -> Sequence[SessionName]:
    """A session's id is the beginning of its sub-agents' ids: it stands for all of them."""
    mains = {session.native_id for session in near if ":" not in session.native_id}
    return [
        session
        for session in near
        if session.native_id in mains or session.native_id.partition(":")[0] not in mains
    ]


def _shown(session: SessionName) -> str:
    words = (str(session.number), session.flavor, session.native_id, (session.title or "")[:40])
    return one_line(" ".join(word for word in words if word))
