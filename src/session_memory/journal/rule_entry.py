"""An entry without a model: what digest and observations say, under the headings a model uses."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from session_memory.core.schema import Digest, Observation, ObservationType, Session, SessionEvent
from session_memory.core.text.masks import excerpt
from session_memory.core.text.safe_text import one_line
from session_memory.core.work_state import notes
from session_memory.distil.observe import observe
from session_memory.journal.context import Turn
from session_memory.journal.model_entry import OK

MAX_ITEMS = 8
LINE_CHARS = 300


class Known(msgspec.Struct, frozen=True):
    """What there is to tell of a session."""

    observations: tuple[Observation, ...] = ()
    digest: Digest | None = None

    @property
    def upto(self) -> int | None:
        """When the last of it was said."""
        return max((one.at for one in self.observations if one.at is not None), default=None)


def known_from_turns(session: str, turns: Sequence[Turn]) -> Known:
    """The same kind of knowledge from a bare context, where no store knows the session."""
    events = [
        SessionEvent(
            session_id=0,
            seq=seq,
            kind="user_prompt" if turn.role == "User" else "assistant_text",
            origin="user" if turn.role == "User" else "agent",
            text=turn.text,
            id=seq,
        )
        for seq, turn in enumerate(turns, 1)
    ]
    return Known(tuple(observe(Session(0, "unknown", session), events)))


def entry_text(known: Known, since: int | None = None) -> str:
    """The entry, or FLUSH_OK where nothing is worth saving.

    With `since`, only what was said after it: the rest was flushed before.
    """
    said = [
        one
        for one in notes(known.observations)
        if since is None or one.at is None or one.at > since
    ]
    # A digest tells of the whole session, so it adds nothing to a part of one.
    digest = known.digest if since is None else None
    sections = {
        "Key Exchanges": _texts(said, "session_summary"),
        "Decisions Made": [*_texts(said, "decision"), *(digest.decisions if digest else ())],
        "Lessons Learned": [*_texts(said, "constraint"), *_lessons(digest)],
        "Action Items": [
            *_texts(said, "pending_item", "blocker"),
            *(digest.open_items if digest else ()),
        ],
    }
    lists = {name: _bullets(items) for name, items in sections.items()}
    if not any(lists.values()):
        return OK
    context = _context(said, digest)
    parts = [f"**Context:** {context}"] if context else []
    parts += [f"**{name}:**\n" + "\n".join(lines) for name, lines in lists.items() if lines]
    return "\n\n".join(parts)


def _texts(said: Iterable[Observation], *types: ObservationType) -> list[str]:
    return [one.text for one in said if one.type in types]


def _lessons(digest: Digest | None) -> list[str]:
    if digest is None:
        return []
    again = (f"Seen {one.count} times: {one.sample}" for one in digest.errors if one.count > 1)
    return [*(f"Corrected by the user: {one}" for one in digest.corrections), *again]


def _context(said: Sequence[Observation], digest: Digest | None) -> str:
    asked = _texts(said, "objective") or _texts(said, "user_request")
    words = (digest.objective if digest else None) or (asked[0] if asked else "")
    outcome = f" (outcome: {digest.outcome})" if digest and words else ""
    return excerpt(one_line(words), LINE_CHARS) + outcome


def _bullets(items: Iterable[str]) -> list[str]:
    """The latest items, each once, each on one line; how many were left out is said."""
    lines = list(dict.fromkeys(excerpt(one_line(item), LINE_CHARS) for item in items))
    lines = [line for line in lines if line]
    more = [f"- ({len(lines) - MAX_ITEMS} more)"] if len(lines) > MAX_ITEMS else []
    return [f"- {line}" for line in lines[-MAX_ITEMS:]] + more
