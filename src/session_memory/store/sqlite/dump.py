"""The canonical content of a store: equal for equal logs, however they came in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from session_memory.core.schema import Digest, Observation, Session, SessionEvent
from session_memory.store.port import ObservationQuery, SessionQuery
from session_memory.store.segments import SegmentReader
from session_memory.store.sqlite import observations, queries
from session_memory.store.sqlite.connection import Database, rows
from session_memory.store.sqlite.ids import event_range

_PLACEHOLDER = re.compile(r"\[REDACTED_SECRET:[0-9a-f]+\]")
_KEY_SUFFIX = re.compile(r"-[0-9a-f]{6}$")
# Ours, not the log's: integers, arrival order, keyed values, times of reading.
_SESSION_LEFT_OUT = {"id", "parent_id", "project_id", "parser_version"}
_EVENT_LEFT_OUT = {"id", "session_id", "seq", "fingerprint", "body_ref", "source_ref"}
_OBSERVATION_LEFT_OUT = {"session", "event"}


def dump(db: Database, reader: SegmentReader) -> Iterator[dict[str, Any]]:
    """One value per session, by flavour and native id, with all that is known of it."""
    sessions = queries.sessions(db, SessionQuery())
    for session in sorted(sessions, key=lambda s: (s.flavor, s.external_id)):
        if not session.event_count:  # only a rewritten file knew it: not what the logs say now
            continue
        events = [_event(event) for event in queries.events(db, session.id, reader)]
        digest = queries.digest(db, session.id)
        yield {
            "session": _session(session),
            "events": events,
            "usage": _usage(db, session, bool(events)),
            "digest": None if digest is None else _digest(digest),
            "observations": _observations(db, session.id),
        }


def _session(session: Session) -> dict[str, Any]:
    plain = _plain(msgspec.to_builtins(session), _SESSION_LEFT_OUT)
    if session.project_key:
        plain["project_key"] = _KEY_SUFFIX.sub("", plain["project_key"])
    return plain


def _event(event: SessionEvent) -> dict[str, Any]:
    return _plain(msgspec.to_builtins(event), _EVENT_LEFT_OUT)


def _digest(digest: Digest) -> dict[str, Any]:
    plain = _plain(msgspec.to_builtins(digest), {"source_fingerprint"})
    for name in ("commands", "errors", "rules", "cures"):
        for entry in plain[name]:
            for arrival in ("seq", "error_seq", "step_seqs", "proof_seq"):
                entry.pop(arrival, None)
    return plain


def _observations(db: Database, session_id: int) -> list[dict[str, Any]]:
    """In an order of their own: rows of an evicted part and of a later one came at other times."""
    stored = observations.observations(db, ObservationQuery(session=session_id, excluded=True))
    return [
        _observation(observation)
        for observation in sorted(stored, key=lambda o: (o.at or 0, o.type, o.text))
    ]


def _observation(observation: Observation) -> dict[str, Any]:
    return _plain(msgspec.to_builtins(observation), _OBSERVATION_LEFT_OUT)


def _plain(values: dict[str, Any], left_out: set[str]) -> dict[str, Any]:
    encoded = msgspec.json.encode({k: v for k, v in values.items() if k not in left_out})
    return msgspec.json.decode(_PLACEHOLDER.sub("[REDACTED_SECRET]", encoded.decode()))


def _usage(db: Database, session: Session, live: bool) -> list[dict[str, Any]]:
    """Counted responses; of a session with live events only those the events still name."""
    condition = (
        "AND key IN (SELECT usage_key FROM event WHERE id BETWEEN ? AND ? AND superseded = 0)"
        if live
        else "AND ? <= ?"
    )
    names = (
        "at, model, mode, input, output, cache_read, cache_write_5m, cache_write_1h, reasoning,"
        " sidechain, usd"
    )
    selected = rows(
        db,
        f"SELECT {names} FROM usage WHERE session_id = ? AND counted = 1 {condition}",
        (session.id, *event_range(session.id)),
    )
    keys = names.split(", ")
    return sorted(
        (_plain(dict(zip(keys, row, strict=True)), set()) for row in selected),
        key=lambda row: [str(row[k]) for k in keys],
    )
