"""What a sweep hands to a store, without a sweep: drafts and the shortest form of the merge."""

from __future__ import annotations

from typing import Any

import msgspec

from session_memory.core.cursor import Cursor
from session_memory.core.facts import Fact
from session_memory.core.hashing import blake2b
from session_memory.core.retention.plan import Eviction
from session_memory.core.schema import Digest
from session_memory.store.port import (
    EventDraft,
    RetentionStore,
    SessionReader,
    UsageDraft,
    WritableStore,
    Writer,
)

START = 1_772_442_000_000  # 2026-03-02T09:00:00Z
MODEL = "claude-sonnet-4-5-20250929"


class Said(msgspec.Struct, frozen=True):
    """What one log file says about one session; the same values again are the same file again."""

    session: str
    path: str
    events: tuple[EventDraft, ...] = ()
    facts: tuple[Fact, ...] = ()
    usages: tuple[UsageDraft, ...] = ()
    parent: str | None = None
    flavor: str = "claude"


def event(pos: int, text: str = "", **fields: Any) -> EventDraft:
    """An event at a place of its file; equal text and time give an equal fingerprint."""
    values: dict[str, Any] = {
        "kind": "assistant_text",
        "origin": "agent",
        "at": START + pos,
        "body": text.encode(),
        **fields,
    }
    values.setdefault("fingerprint", number(f"{values['at']} {values['kind']} {text}"))
    return EventDraft(pos=pos, **values)


def turn(pos: int, text: str, **fields: Any) -> EventDraft:
    """A prompt that both indexes know."""
    defaults = {"kind": "user_prompt", "origin": "user", "index_text": text, "turn_text": text}
    return event(pos, text, **{**defaults, **fields})


def response(key: str, output: int = 10, **fields: Any) -> UsageDraft:
    """The tokens of one API response, at a price of one dollar for each million of output."""
    values: dict[str, Any] = {
        "model": MODEL,
        "at": START,
        "input": 1,
        "cache_read": 0,
        "cache_write_5m": 0,
        "cache_write_1h": 0,
        "reasoning": 0,
        "stated_usd": None,
        "usd": output / 1_000_000,
        "price_table": "test",
        "sidechain": False,
        **fields,
    }
    return UsageDraft(key=number(key), output=output, **values)


def number(name: str) -> int:
    """A stand-in for a keyed fingerprint: 64 bits, signed, the same in every store."""
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "big", signed=True)


def lived(opened: int, ended: int, pos: int = 0) -> tuple[Fact, ...]:
    """When a session opened and ended, as in its log."""
    return (
        Fact("opened_at", START + opened, pos),
        Fact("started_at", START + opened, pos),
        Fact("ended_at", START + ended, pos),
    )


def cursor(source_id: int, read_to: int, **state: Any) -> Cursor:
    """A cursor that stands at `read_to`."""
    stamp = (1, 2, read_to, START, START)
    return Cursor(source_id, stamp, b"head", b"tail", read_to, state, 1)


def distilled(objective: str = "make it work", **fields: Any) -> Digest:
    """A digest with little in it."""
    values: dict[str, Any] = {
        "flavor": "claude",
        "outcome": "success",
        "confidence": "high",
        "grounds": ("tests passed",),
        "source_fingerprint": "0",
        **fields,
    }
    return Digest(objective=objective, **values)


def add_draft(writer: Writer, said: Said) -> int:
    """Take in what a file says, as a sweep does: new events are added, known ones confirmed."""
    source_id = writer.source(said.flavor, said.path)
    session = writer.session(said.flavor, said.session, said.parent)
    writer.link(session, source_id)
    holders_by_fingerprint = writer.holders([draft.fingerprint for draft in said.events])
    new: list[EventDraft] = []
    for draft in said.events:
        holders = holders_by_fingerprint.get(draft.fingerprint, [])
        if any(holder.session_id != session.id for holder in holders):
            writer.note_shared({draft.fingerprint})
        own = [holder for holder in holders if holder.session_id == session.id]
        confirmed = [(holder.event_id, draft) for holder in own if holder.event_id is not None]
        writer.confirm(source_id, confirmed)
        if not own:
            new.append(draft)
    if new:
        writer.append(session, source_id, new)
    writer.add_facts(session, source_id, list(said.facts))
    writer.add_usage(session, list(said.usages))
    return session.id


def capture(store: WritableStore, *said: Said) -> list[int]:
    """Take in files in one transaction and settle; returns the session of each."""
    with store.writing() as writer:
        sessions = [add_draft(writer, draft) for draft in said]
        writer.settle(set(sessions))
    return sessions


def analyze(store: WritableStore, session_id: int, digest: Digest | None = None) -> Digest:
    """Give a session a digest, which is what makes its raw text evictable."""
    digest = digest or distilled()
    with store.writing() as writer:
        writer.save_digest(session_id, digest, None)
    return digest


def evict(store: RetentionStore, *sessions: int, data_loss: bool = False) -> int:
    """Evict these sessions, as an age pass would."""
    names = {raw.session_id: raw for raw in store.raw_sessions()}
    evictions = [
        Eviction(session, names[session].external_id, names[session].raw_bytes, "age", data_loss)
        for session in sessions
    ]
    return store.evict(evictions, START)


def texts(store: SessionReader, session_id: int) -> list[str | None]:
    """The texts of a session in source order."""
    return [event.text for event in store.events(session_id, texts=True)]
