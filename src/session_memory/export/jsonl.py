"""Writes an export as JSONL, line by line, so that no session has to fit into memory."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from session_memory import __version__
from session_memory.atomic_files import replace_file
from session_memory.core.schema import Digest, Project, Session
from session_memory.export.drafts import EventFingerprints
from session_memory.export.records import (
    FORMAT,
    KIND,
    MANIFEST,
    SESSIONS,
    EventLine,
    FactLine,
    FileEntry,
    Line,
    Manifest,
    SessionLine,
    event_mark,
    store_mark,
    to_hex,
    usage_line,
)
from session_memory.paths import open_private
from session_memory.store.exchange import Origins
from session_memory.store.port import CaptureStore, Store
from session_memory.store.values import ObservationQuery

Progress = Callable[[int, int, str], None]


class ExportRequest(msgspec.Struct, frozen=True):
    """What to export, and the current time."""

    sessions: tuple[Session, ...]
    filters: dict[str, Any]
    """As the user gave them."""
    now_ms: int


class ExportFiles(msgspec.Struct, frozen=True):
    """The two files of an export."""

    lines: Path
    manifest: Path


def export_files(path: Path) -> ExportFiles:
    """The files of the export at a path: a .jsonl file, or a directory."""
    if path.suffix == ".jsonl":
        return ExportFiles(path, path.with_name(f"{path.stem}.{MANIFEST}"))
    return ExportFiles(path / SESSIONS, path / MANIFEST)


def write_jsonl(
    store: Store, files: ExportFiles, request: ExportRequest, progress: Progress
) -> Manifest:
    """Write the lines, then the manifest: an export that was cut off has no manifest."""
    fresh = files.lines.with_name(f"{files.lines.name}.{os.getpid()}.new")
    try:
        with open_private(fresh, "xb") as stream:
            written = _HashingStream(stream)
            for line in lines_of(store, request.sessions, progress):
                written.add(line)
            stream.flush()
            os.fsync(stream.fileno())
        fresh.replace(files.lines)
    finally:
        fresh.unlink(missing_ok=True)
    manifest = Manifest(
        kind=KIND,
        format=FORMAT,
        version=__version__,
        made_at=request.now_ms,
        store=store_mark(store.tag_key),
        fingerprint_key=store.fingerprint_key.hex(),
        files=(FileEntry(files.lines.name, written.size, written.hash.hexdigest()),),
        counts=dict(written.counts),
        asked=request.filters,
    )
    replace_file(files.manifest, msgspec.json.format(msgspec.json.encode(manifest), indent=2))
    return manifest


class _HashingStream:
    """A stream that hashes and counts what is written to it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.hash = hashlib.sha256()
        self.size = 0
        self.counts: Counter[str] = Counter(sessions=0, events=0, usages=0, observations=0)

    def add(self, line: Line) -> None:
        data = msgspec.json.encode(line) + b"\n"
        self._stream.write(data)
        self.hash.update(data)
        self.size += len(data)
        match line:
            case SessionLine():
                self.counts["sessions"] += 1
                self.counts["usages"] += len(line.usages)
                self.counts["observations"] += len(line.observations)
            case EventLine():
                self.counts["events"] += 1


def lines_of(store: Store, sessions: tuple[Session, ...], progress: Progress) -> Iterator[Line]:
    """Every session, each followed by its events."""
    projects = {project.id: project for project in store.projects()}
    for number, session in enumerate(sessions):
        progress(number, len(sessions), session.external_id)
        yield from _session_lines(store, session, projects)


def _session_lines(store: Store, session: Session, projects: dict[int, Project]) -> Iterator[Line]:
    origins = store.exchange.origins(session.id)
    order = {source: number for number, source in enumerate(origins.paths)}
    query = ObservationQuery(session=session.id, excluded=True)
    yield SessionLine(
        session=session,
        project=None if session.project_id is None else projects.get(session.project_id),
        logs=tuple(origins.paths.values()),
        facts=tuple(
            FactLine(order[source], fact.name, fact.value, fact.pos)
            for source, fact in origins.facts
        ),
        notes=origins.notes,
        usages=tuple(usage_line(usage) for usage in origins.usages),
        digest=_without_fingerprint(store.digest(session.id)),
        evicted_digest=_without_fingerprint(store.evicted_digest(session.id)),
        observations=tuple(store.observations(query)),
        lasting=tuple(sorted(origins.lasting)),
    )
    yield from _event_lines(store, session, origins, order)


def _event_lines(
    store: CaptureStore, session: Session, origins: Origins, order: dict[int, int]
) -> Iterator[EventLine]:
    fingerprints = EventFingerprints(store.fingerprint_key, session.external_id)
    for event in store.events(session.id, texts=True):
        body = (event.text or "").encode("utf-8", "replace")
        source, pos = event.source_ref or (0, 0)
        response = origins.responses.get(event.id)
        yield EventLine(
            log=order[source],
            pos=pos,
            mark=event_mark(store.tag_key, event.fingerprint),
            kind=event.kind,
            origin=event.origin,
            at=event.at,
            tool=event.tool,
            tool_class=event.tool_class,
            call_id=event.call_id,
            is_error=event.is_error,
            exit_code=event.exit_code,
            files=event.files,
            command=event.command,
            response=None if response is None else to_hex(response),
            label=event.label,
            exact=fingerprints.next(event, body) == event.fingerprint,
            text=event.text or "",
        )


def _without_fingerprint(digest: Digest | None) -> Digest | None:
    return None if digest is None else msgspec.structs.replace(digest, source_fingerprint="")
