"""Converts what a hub sends into the values of a store."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from session_memory.core.event_ids import event_id
from session_memory.core.schema import Cure, Observation, Project, Session, SessionEvent
from session_memory.core.sharing import wire
from session_memory.store.scopes import SessionLine
from session_memory.team.evidence import read_cure

FIRST_NUMBER = 1 << 32
"""Sessions of a hub are numbered from here on, by the beginning of their keys: no other store has
so many, and the same session has the same number on every machine."""
_DIGITS = 8
SOURCE = "hub"


def number_of(key: str) -> int:
    """The number of a session."""
    return FIRST_NUMBER + int(key[:_DIGITS], 16)


def beginning_of(number: int) -> str:
    """The beginning of the key of a session."""
    return f"{number - FIRST_NUMBER:0{_DIGITS}x}"


def project_of(index: int, name: str) -> Project:
    """A shared project."""
    return Project(FIRST_NUMBER + index, name, None, remote=name, source=SOURCE)


def title_of(line: wire.SessionLine) -> str:
    """Who shared it, and what it is called."""
    return f"{line.author}: {line.body.title or ''}".strip()


def session_of(line: wire.SessionLine, project: Project | None, *, whole: bool = True) -> Session:
    """The header of a session as a store would give it."""
    body = line.body
    plain = {
        "id": number_of(line.key),
        "flavor": body.flavor,
        "external_id": line.key,
        "parent_external_id": body.parent,
        "project_id": project.id if project else None,
        "project_key": line.project,
        "branch": body.branch,
        "models": body.models,
        "source_kind": body.source_kind,
        "started_at": body.started_at,
        "ended_at": body.ended_at,
        "title": title_of(line),
        "event_count": body.event_count,
        "state": "captured" if whole else "raw_evicted",
        "metadata": {"project_resolution_source": SOURCE},
    }
    return msgspec.convert(plain, Session)


def line_of(session: Session) -> SessionLine:
    """The same as recall lists it; its label is the title without who shared it."""
    return SessionLine(
        id=session.id,
        flavor=session.flavor,
        external_id=session.external_id,
        project_id=session.project_id,
        started_at=session.started_at,
        ended_at=session.ended_at,
        cwd=None,
        title=session.title,
        client_version=None,
        source_kind=session.source_kind,
        parent=session.parent_external_id,
        low_value=None,
        label=(session.title or "").partition(": ")[2] or None,
        suppressed=False,
        resolved_by=SOURCE,
    )


def renamed(line: SessionLine, project: int | None) -> SessionLine:
    """A line of the copy with our numbers."""
    return msgspec.structs.replace(line, id=number_of(line.external_id), project_id=project)


def event_of(session: int, event: wire.EventBody, text: str | None) -> SessionEvent:
    """An event; what its owner's program wrote into its fields is checked."""
    plain = {
        **msgspec.to_builtins(event),
        "session_id": session,
        "id": event_id(session, event.seq),
        "text": text,
        "body_ref": (0, 0, len(text)) if text is not None else None,
    }
    return msgspec.convert(plain, SessionEvent)


def failure_of(session: int, cure: Cure, at: int | None) -> SessionEvent:
    """What failed before a cure, where its session is not shared as events."""
    return SessionEvent(
        session_id=session,
        seq=cure.error_seq,
        kind="error",
        origin="tool",
        at=at,
        is_error=True,
        text=f"{cure.failed}: {cure.sample}",
        id=event_id(session, cure.error_seq),
    )


def observation_of(
    body: msgspec.Raw, text: str, session: int, hit: tuple[str, int | None]
) -> Observation | None:
    """An observation by its key and time; None for what does not read as one."""
    key, at = hit
    try:
        plain = msgspec.json.decode(body, type=dict[str, object])
        fields = {**plain, "text": text, "session": session, "event": None}
        return msgspec.convert({**fields, "hash": key[:24], "at": at}, Observation)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def cures_in(text: wire.SessionText) -> Iterator[Cure]:
    """The cures of a session."""
    for shared in text.items:
        cure = read_cure(shared.item.body) if shared.item.kind == "cure" else None
        if cure is not None:
            yield cure
