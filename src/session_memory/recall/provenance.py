"""mem_get and mem_provenance: one observation, and where it was said."""

from __future__ import annotations

import msgspec

from session_memory.clock import iso
from session_memory.core.schema import Observation, SessionEvent
from session_memory.core.text.safe_text import one_line, safe
from session_memory.core.text.similarity import untagged
from session_memory.errors import NotFound
from session_memory.recall.context import RecallContext
from session_memory.recall.requests import ObservationRequest
from session_memory.recall.scope import is_of_project, project_of
from session_memory.recall.session_fields import capture_version
from session_memory.store.port import RecallStore, SessionReader
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
    """The session an observation comes from."""

    session_id: int
    external_session_id: str
    runtime: str
    cwd: str | None
    started_at: str | None
    ended_at: str | None
    producer_version: str | None
    capture_version_status: str


class SourceTurn(msgspec.Struct, frozen=True):
    """The event an observation was read from."""

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
    """The beginning of the event's text; None once the raw text is gone."""
    turn_hash: str | None
    model_name: str | None


def get(context: RecallContext, request: ObservationRequest) -> ObservationAnswer:
    """mem_get: one observation by its id."""
    store = context.store
    observation, line = _find(store, request, "Observation not found")
    return _observation_answer(store, observation, line)


def provenance(context: RecallContext, request: ObservationRequest) -> ProvenanceAnswer:
    """mem_provenance: session, event and words of an observation, as far as they are still here."""
    store = context.store
    observation, line = _find(store, request, "Provenance not found")
    event = _event(store, observation)
    text = None
    if event is not None:
        try:
            text = store.text(event)
        except NotFound:  # evicted meanwhile
            event = None
    version = capture_version(line.client_version)
    models = store.session(line.id).models
    return ProvenanceAnswer(
        observation_id=observation.hash,
        source_observation=_observation_answer(store, observation, line),
        source_session=SourceSessionAnswer(
            session_id=line.id,
            external_session_id=one_line(line.external_id),
            runtime=line.flavor,
            cwd=one_line(line.cwd) if line.cwd else None,
            started_at=iso(line.started_at),
            ended_at=iso(line.ended_at),
            producer_version=version.producer_version,
            capture_version_status=version.capture_version_status,
        ),
        source_turn=None
        if event is None
        else SourceTurn(event.id, event.seq, event.kind, iso(event.at), event.tool),
        source_span=safe(untagged(text[:SPAN_CHARS])) if text is not None else None,
        turn_hash=f"{event.fingerprint & (2**64 - 1):016x}" if event is not None else None,
        model_name=one_line(models[-1]) if models else None,
    )


def _find(
    store: RecallStore, request: ObservationRequest, message: str
) -> tuple[Observation, SessionLine]:
    observation = store.scopes.observation(request.observation_id)
    line = store.scopes.line(observation.session) if observation is not None else None
    if observation is None or line is None or not is_of_project(store, line, request.project_key):
        raise NotFound(message, hint="the answers of the other mem_ tools contain valid ids")
    return observation, line


def _event(store: SessionReader, observation: Observation) -> SessionEvent | None:
    if observation.event is None:
        return None
    events = store.events(observation.session)
    return next((event for event in events if event.id == observation.event), None)


def _observation_answer(
    store: RecallStore, observation: Observation, line: SessionLine
) -> ObservationAnswer:
    project = project_of(store, line)
    return ObservationAnswer(
        observation_id=observation.hash,
        project_key=project.key if project else None,
        session_id=line.id,
        external_session_id=one_line(line.external_id),
        type=observation.type,
        status=observation.status,
        text=safe(observation.text),
        importance=observation.importance,
        origin=observation.origin,
        source_kind=observation.source,
        at=iso(observation.at),
        event_id=observation.event,
    )
