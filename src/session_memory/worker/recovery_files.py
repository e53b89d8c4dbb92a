"""What a session is told after a compaction: one file for the hook, which opens no store.

Named by a hash of the session. The hook renames the file when it gives it, and again when a turn
has ended since: a process that ended before that gave its model nothing. So it is given once; what
is left says how many compactions of the session are dealt with.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.core.loop.injection import Section
from session_memory.core.schema import Session, SessionEvent
from session_memory.core.spool import IMPORTED, SpoolRecord
from session_memory.measure.restarts import SECTION
from session_memory.memory.known_session import project_roots
from session_memory.memory.recovery import (
    AFTER_COMPACTION,
    MAX_CHARS,
    facts_of,
    recovery_lines,
    recovery_text,
)
from session_memory.paths import private_dir
from session_memory.store.port import SessionReader

VERSION = 1
FOLDER, WAITING = "recovery", ".json"
STATES = (WAITING, ".given", ".told")
RECENT_MS = 30 * 60_000
"""A compaction that only the log shows is answered if it is not older than this."""
CLOCKS_MS = 2_000
"""Hook and log may differ by this much on the time of a compaction."""
MAX_AGE_MS = 7 * 24 * 3_600_000


class RecoveryFile(msgspec.Struct, frozen=True):
    """What the hook reads."""

    section: Section
    covers: int
    """How many compactions of the session it is for, all earlier ones included."""
    made_at: int
    v: int = VERSION


def file_name(session: str) -> str:
    """The name of a session's file, without what says whether it was given."""
    return hashlib.sha256(session.encode()).hexdigest()


class RecoveryContext(msgspec.Struct, frozen=True):
    """Where the files are written, the current time, and the trial if there is one."""

    state: Path
    now_ms: int
    trial: str | None = None


def prepare(store: SessionReader, records: Sequence[SpoolRecord], context: RecoveryContext) -> int:
    """Write a file for each session that compacts or has just compacted; returns how many."""
    records_by_session: dict[tuple[str, str], list[SpoolRecord]] = {}
    for record in records:
        if record.kind in IMPORTED and record.session and not record.agent:
            records_by_session.setdefault((record.flavor, record.session), []).append(record)
    written = 0
    for (flavor, name), of_session in records_by_session.items():
        session = store.own_session(name, flavor)
        if session is not None:
            written += _prepare_session(store, session, of_session, context)
    _drop_old(context)
    return written


def _prepare_session(
    store: SessionReader, session: Session, records: Iterable[SpoolRecord], context: RecoveryContext
) -> int:
    digest = store.digest(session.id)
    announced = max((record.at for record in records if record.kind == "compaction"), default=0)
    if digest is None or not (announced or digest.compactions):
        return 0
    events = list(store.events(session.id))
    times = [event.at or 0 for event in events if _is_compaction(event)]
    is_coming = announced > 0 and max(times, default=0) < announced - CLOCKS_MS
    covers = len(times) + is_coming
    if not announced and max(times, default=0) < context.now_ms - RECENT_MS:
        return 0
    folder = private_dir(context.state / FOLDER)
    path = folder / (file_name(session.external_id) + WAITING)
    if covers <= max(_covered(path.with_suffix(state)) for state in STATES):
        return 0
    roots = project_roots(session, {project.id: project for project in store.projects()})
    facts = facts_of(digest, events, store.text, roots)
    if is_coming:  # the summary in the log is an older one, and goes too
        facts = msgspec.structs.replace(facts, summary="")
    text = recovery_text(recovery_lines(facts), AFTER_COMPACTION, MAX_CHARS)
    if not text:
        return 0
    file = RecoveryFile(Section(SECTION, text, context.trial), covers, context.now_ms)
    replace_file(path, msgspec.json.encode(file))
    return 1


def _is_compaction(event: SessionEvent) -> bool:
    return event.kind == "compaction" and not event.inherited


def _covered(path: Path) -> int:
    try:
        return msgspec.json.decode(path.read_bytes(), type=RecoveryFile).covers
    except (OSError, msgspec.DecodeError):
        return 0


def _files(state: Path) -> Iterator[Path]:
    for path in (state / FOLDER).glob("*"):
        if path.suffix in STATES:
            yield path


def _drop_old(context: RecoveryContext) -> None:
    for path in _files(context.state):
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_mtime * 1000 < context.now_ms - MAX_AGE_MS:
                path.unlink()


def recovery_texts(state: Path) -> Iterator[str]:
    """The text of every file; a damaged file as it is."""
    for path in _files(state):
        with contextlib.suppress(FileNotFoundError):
            data = path.read_bytes()
            try:
                yield msgspec.json.decode(data, type=RecoveryFile).section.text
            except msgspec.DecodeError:
                yield data.decode("utf-8", "replace")


def drop_recovery(state: Path) -> None:
    """Remove every file: it may hold text that must go."""
    for path in (state / FOLDER).glob("*"):
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
