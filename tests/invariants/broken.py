"""What must hold after any fault: `broken` names every promise that a store does not keep.

Numbers are those of the invariants in docs/evidence.md. I6 (jobs) and I8 (scopes) have nothing to
check yet: there are no jobs and no answers with a scope.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import msgspec

from session_memory.errors import SessionMemoryError
from session_memory.ingest.discover import discover, log_folders, stamp_of
from session_memory.store.port import SessionQuery
from session_memory.store.segments import DirectorySegments, manifest_bytes, unpack
from session_memory.testing.workspace import Workspace

Dump = list[dict[str, Any]]

DAMAGE = (SessionMemoryError, apsw.Error, OSError, ValueError, TypeError)
"""What reading a damaged store may raise; it is reported, never passed over."""


class Known(msgspec.Struct, frozen=True):
    """What a store is held against, beyond what its logs say."""

    dump: Dump | None = None
    """Its content; without it, that of a fresh store of the same logs."""
    secrets: tuple[str, ...] = ()
    logs: dict[str, str] | None = None
    """`Workspace.log_hashes` from before."""


NOTHING = Known()


def broken(space: Workspace, known: Known = NOTHING) -> list[str]:
    """Every promise that does not hold, by its number; an empty list is what we want."""
    checks: dict[str, Callable[[], Iterator[str]]] = {
        "I1": lambda: unreadable(space),
        "I2": lambda: dropped_undigested(space),
        "I3": lambda: replayed(space),
        "I4": lambda: unlike_fresh(space, known.dump),
        "I5": lambda: iter(space.findings()),
        "I7": lambda: leaked(space.store_directory, known.secrets),
        "I9": lambda: unreported(space),
        "I10": lambda: written_logs(space, known.logs),
    }
    found: list[str] = []
    for name, check in checks.items():
        try:
            found += [f"{name}: {text}" for text in check()]
        except DAMAGE as error:
            found.append(f"{name}: {type(error).__name__}: {error}")
    return found


def unreadable(space: Workspace) -> Iterator[str]:
    """I1: each event that counts as stored comes back with its text."""
    with space.store() as store:
        for session in store.sessions(SessionQuery()):
            try:
                count = sum(event.text is not None for event in store.all_events(session.id))
            except DAMAGE as error:
                yield f"session {session.external_id}: {error}"
                continue
            if session.state != "raw_evicted" and count < session.event_count:
                with_evicted = store.evicted_digest(session.id) is not None
                if not with_evicted:
                    yield f"session {session.external_id}: {session.event_count - count} texts gone"


def dropped_undigested(space: Workspace) -> Iterator[str]:
    """I2: raw text went only behind its digest, or as a reported loss."""
    sql = (
        "SELECT external_id FROM session s WHERE state = 'raw_evicted'"
        " AND NOT EXISTS (SELECT 1 FROM evicted_digest WHERE session_id = s.id)"
        " AND NOT EXISTS (SELECT 1 FROM eviction WHERE session_id = s.id AND data_loss = 1)"
    )
    db = apsw.Connection(str(space.store_directory / "store.db"))
    for (name,) in db.execute(sql).fetchall():
        yield f"session {name} was evicted without a digest"
    db.close()


def replayed(space: Workspace) -> Iterator[str]:
    """I3: every log read once more, whole, adds nothing and changes nothing."""
    again = space.with_store("replayed")
    shutil.rmtree(again.store_directory, ignore_errors=True)
    shutil.copytree(space.store_directory, again.store_directory)
    before = again.dump()
    db = apsw.Connection(str(again.store_directory / "store.db"))
    db.execute("UPDATE source SET mtime_ns = mtime_ns - 1; DELETE FROM forgotten_source")
    db.close()
    report = again.sweep()
    if report.events:
        yield f"{report.events} events were added by reading the logs again"
    yield from (f"after a replay {text}" for text in difference(again.dump(), before))


def unlike_fresh(space: Workspace, expected: Dump | None) -> Iterator[str]:
    """I4: the content is that of a store which met no fault."""
    if expected is None:
        fresh = space.with_store("fresh")
        shutil.rmtree(fresh.store_directory, ignore_errors=True)
        fresh.sweep()
        expected = fresh.dump()
    yield from difference(space.dump(), expected)


def leaked(directory: Path, secrets: tuple[str, ...]) -> Iterator[str]:
    """I7: no planted secret stands anywhere, in whatever case, also with its end cut off."""
    if secrets:
        stored = b"\n".join(everything_stored(directory)).lower()
        for secret in secrets:
            if core_of(secret) in stored:
                yield f"the secret {secret[:8]}... is stored"


def core_of(secret: str) -> bytes:
    """The part of a secret by which it is found: without its prefix and its last characters."""
    return secret[4:34].lower().encode()


def unreported(space: Workspace) -> Iterator[str]:
    """I9: what the last sweep did not take in, it names."""
    report = space.report
    if report is None:
        return
    failed = {failure.path for failure in report.failed}
    if report.discovered != report.ingested + report.skipped_unchanged + len(failed):
        yield f"{report.discovered} files do not add up"
    with space.store() as store:
        for folders in log_folders(space.adapters, space.config().sources, {}, str(space.home)):
            stamps = store.stamps(folders.adapter.name)
            for file in discover(folders, space.exclude):
                stamp, _ = stamps.get(file.path, (None, 0))
                taken = stamp == stamp_of(file) or file.path in failed
                if not taken and not store.is_forgotten_source(file.path, stamp_of(file)):
                    yield f"{Path(file.path).name} is neither taken in nor reported"


def written_logs(space: Workspace, before: dict[str, str] | None) -> Iterator[str]:
    """I10: the agents' own files are as they were."""
    if before is not None:
        after = space.log_hashes()
        for path in sorted(before.keys() | after.keys()):
            if before.get(path) != after.get(path):
                yield f"{Path(path).name} has changed"


def everything_stored(directory: Path) -> Iterator[bytes]:
    """Raw bytes of every file, texts of every segment, every column, every indexed word."""
    for path in directory.rglob("*"):
        if path.is_file():
            yield path.read_bytes()
    segments = DirectorySegments(str(directory / "segments"))
    for name in segments.names():
        yield unpack(segments, name)
        yield manifest_bytes(segments, name) or b""
    db = apsw.Connection(str(directory / "store.db"))
    for index in ("event_text", "turn_text", "observation_text"):
        db.execute(f"CREATE VIRTUAL TABLE temp.{index}_v USING fts5vocab(main, {index}, row)")
        for (term,) in db.execute(f"SELECT term FROM temp.{index}_v"):
            yield str(term).encode()
    tables = [row[0] for row in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    for table in tables:
        for row in db.execute(f'SELECT * FROM "{table}"'):
            yield b"\n".join(as_bytes(column) for column in row)
    db.close()


def as_bytes(column: Any) -> bytes:
    return column if isinstance(column, bytes) else str(column).encode()


def difference(ours: Dump, theirs: Dump) -> list[str]:
    """The first places where two dumps differ, short enough to read."""
    found: list[str] = []

    def walk(one: Any, other: Any, place: str) -> None:
        if isinstance(one, dict) and isinstance(other, dict):
            for key in one.keys() | other.keys():
                walk(one.get(key), other.get(key), f"{place}/{key}")
        elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
            for index, pair in enumerate(zip(one, other, strict=True)):
                walk(*pair, f"{place}[{index}]")
        elif one != other:
            found.append(f"{place}: {str(one)[:90]} != {str(other)[:90]}")

    walk(ours, theirs, "")
    return found[:8]
