"""mem_get and mem_provenance: one observation, and where it was said."""

from __future__ import annotations

import msgspec

from session_memory.clock import iso
from session_memory.core.schema import Observation, SessionEvent
from session_memory.core.text.safe_text import one_line, safe
from session_memory.core.text.similarity import untagged
from session_memory.errors import NotFound
from session_memory.recall.session_list import capture_version
from session_memory.store.port import Store
from session_memory.store.scopes import SessionLine

SPAN_CHARS = 600


class ObservationAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """mem_get."""

    observation_id: str
    project_key: str | None
    session_id: int
    external_session_id: str
    type: str
    status: str
    text: str
    importance: int
    origin: str
    source_kind: str
    at: str | None
    event_id: int | None


class SourceSessionAnswer(msgspec.Struct, frozen=True):
    """The session something was said in."""

    session_id: int
    external_session_id: str
    runtime: str
    cwd: str | None
    started_at: str | None
    ended_at: str | None
    producer_version: str | None
    capture_version_status: str


class SourceTurn(msgspec.Struct, frozen=True):
    """The event something was read from."""

    event_id: int
    seq: int
    kind: str
    at: str | None
    tool: str | None


class ProvenanceAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """mem_provenance."""

    observation_id: str
    source_observation: ObservationAnswer
    source_session: SourceSessionAnswer
    source_turn: SourceTurn | None
    source_span: str | None
    """What was said there, from its beginning; None once the raw text has gone."""
    turn_hash: str | None
    model_name: str | None


def get(store: Store, observation_id: str) -> ObservationAnswer:
    """One observation by its id."""
    one, line = _found(store, observation_id, "Observation not found")
    return _shown(store, one, line)


def provenance(store: Store, observation_id: str) -> ProvenanceAnswer:
    """Where an observation was said: session, event and words, as far as they are still here."""
    one, line = _found(store, observation_id, "Provenance not found")
    event = _event(store, one)
    text = None
    if event is not None:
        try:
            text = store.text(event)
        except NotFound:  # evicted since we looked
            event = None
    version = capture_version(line.client_version)
    models = store.session(line.id).models
    return ProvenanceAnswer(
        observation_id=one.hash,
        source_observation=_shown(store, one, line),
        source_session=SourceSessionAnswer(
            line.id,
            one_line(line.external_id),
            line.flavor,
            one_line(line.cwd) if line.cwd else None,
            iso(line.started_at),
            iso(line.ended_at),
            version.producer_version,
            version.capture_version_status,
        ),
        source_turn=None
        if event is None
        else SourceTurn(event.id, event.seq, event.kind, iso(event.at), event.tool),
        source_span=safe(untagged(text[:SPAN_CHARS])) if text is not None else None,
        turn_hash=f"{event.fingerprint & (2**64 - 1):016x}" if event is not None else None,
        model_name=one_line(models[-1]) if models else None,
    )


def _found(store: Store, observation_id: str, message: str) -> tuple[Observation, SessionLine]:
    one = store.scopes.observation(observation_id)
    line = store.scopes.line(one.session) if one is not None else None
    if one is None or line is None:
        raise NotFound(message, hint="ids stand in the answers of the other mem_ tools")
    return one, line


def _event(store: Store, one: Observation) -> SessionEvent | None:
    if one.event is None:
        return None
    return next((event for event in store.events(one.session) if event.id == one.event), None)


def _shown(store: Store, one: Observation, line: SessionLine) -> ObservationAnswer:
    keys = {project.id: project.key for project in store.projects()}
    return ObservationAnswer(
        observation_id=one.hash,
        project_key=keys.get(line.project_id) if line.project_id is not None else None,
        session_id=line.id,
        external_session_id=one_line(line.external_id),
        type=one.type,
        status=one.status,
        text=safe(one.text),
        importance=one.importance,
        origin=one.origin,
        source_kind=one.source,
        at=iso(one.at),
        event_id=one.event,
    )
