"""What a trace is made of: the conversation for a model, or digest and events for the rules."""

from __future__ import annotations

import msgspec

from session_memory.clock import iso
from session_memory.core.schema import Session
from session_memory.errors import NotFound
from session_memory.memory.prompt import MAX_PROMPT_BYTES
from session_memory.memory.rollout import array_of, kept_items, lines_of
from session_memory.memory.selection import Candidate
from session_memory.memory.tasks import TraceSource
from session_memory.redact import Redactor, render
from session_memory.store.port import ObservationQuery, SessionReader


class Conversation(msgspec.Struct, frozen=True):
    """What was said in a session, redacted but not yet cut to the size of a prompt."""

    text: str
    """Without its middle if the whole is longer than any prompt may be."""
    size: int
    """Bytes of the whole conversation."""


def load_conversation(
    store: SessionReader, candidate: Candidate, redactor: Redactor
) -> Conversation:
    """The conversation of a session; it is redacted before any of it is cut."""
    items = kept_items(lines_of(store.events(candidate.session.id, texts=True)))
    array = array_of(items, MAX_PROMPT_BYTES)
    text = render(redactor.redact_json(array.data).decode("utf-8", "replace"))
    return Conversation(text, array.size)


def load_source(store: SessionReader, candidate: Candidate) -> TraceSource:
    """What a trace without a model is made of; events come without their texts."""
    session = candidate.session
    digest = store.digest(session.id)
    if digest is None:
        raise NotFound("the session is not distilled yet", hint="run `session-memory sweep`")
    return TraceSource(
        digest,
        tuple(store.observations(ObservationQuery(session=session.id))),
        tuple(store.events(session.id)),
        candidate.roots,
        session.title,
    )


def where_and_when(session: Session, root: str) -> str:
    """One line on where and when a session ran."""
    parts = [f"{session.flavor} session {session.external_id} in {root}"]
    if session.branch:
        parts.append(f"on branch {session.branch}")
    when = iso(session.ended_at)
    if when is not None:
        parts.append(f"ended {when[:10]}")
    return ", ".join(" ".join(part.split()) for part in parts)
