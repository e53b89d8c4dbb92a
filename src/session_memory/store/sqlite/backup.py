"""Copying a store into a backup, and checking a backup to the last byte."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator, Iterator
from typing import cast

import apsw
import msgspec

from session_memory.atomic_files import flush_directory, flush_file
from session_memory.errors import StoreDamaged, StoreError
from session_memory.store import backups
from session_memory.store.backups import Manifest, Progress
from session_memory.store.damage import DATABASE, SEGMENTS
from session_memory.store.directory import copy_files, files_to_back_up
from session_memory.store.failures import describe, is_damage
from session_memory.store.segments import DirectorySegments, Packed, digest_of
from session_memory.store.sqlite.connection import (
    DISK_ERRORS,
    Database,
    check_version,
    connect,
    copy_database,
    file_uri,
    rows,
    schema_version,
    value,
)

SHOWN = 5
BATCH = 8 * 1024 * 1024
"""Segments are written together: the disk flushes many at the price of a few."""


class BackupContent(msgspec.Struct, frozen=True):
    """A backup that was checked, at a glance."""

    directory: str
    manifest: Manifest | None
    """None for a plain store directory, or a backup of an older program."""
    schema: int
    sessions: int
    events: int
    last_event_at: int | None
    bytes: int


def back_up(
    source: Database, directory: str, target: str, now_ms: int, progress: Progress
) -> Manifest:
    """Copy a store into a new directory, complete and checked, or not at all."""
    segments = int(value(source, "SELECT coalesce(sum(bytes), 0) FROM segment"))
    backups.check_space(target, segments + os.path.getsize(os.path.join(directory, DATABASE)))
    with backups.building(target) as partial:
        try:
            copy_store(source, directory, partial, progress)
            manifest = backups.write_manifest(partial, schema_version(source), now_ms, progress)
            check_backup(partial, progress)
        except StoreDamaged as error:
            raise _not_backed_up(source, target, error) from None
        for folder, _, _ in os.walk(partial):
            flush_directory(folder)
    return manifest


def _not_backed_up(source: Database, target: str, error: StoreDamaged) -> StoreDamaged:
    """Why a copy fails its check: the store is damaged, or the disk it is copied to."""
    try:
        sound = value(source, "PRAGMA quick_check(1)") == "ok" and "segment" not in error.message
    except apsw.Error:
        sound = False
    if sound:
        return StoreDamaged(
            f"the copy at {target} came out wrong, so no backup was made: {error.message}",
            hint="the store is whole; check the disk that you back up to",
        )
    return StoreDamaged(
        f"the store is damaged, so no backup was made: {error.message}",
        hint="`session-memory store repair` repairs what can be repaired;"
        " `session-memory store restore DIR` brings an earlier backup back",
    )


def copy_store(source: Database, directory: str, target: str, progress: Progress) -> None:
    """Copy database, segments and the files next to them; refuses what is damaged."""
    copied = os.path.join(target, DATABASE)
    other_files = files_to_back_up(directory)
    sizes = [os.path.getsize(path) for path in (os.path.join(directory, DATABASE), *other_files)]
    total = sum(sizes) + int(value(source, "SELECT coalesce(sum(bytes), 0) FROM segment"))
    done = sizes[0]
    progress(0, total, DATABASE)
    try:
        copy_database(source, copied)
    except DISK_ERRORS as error:
        if is_damage(error):
            raise StoreDamaged(f"{DATABASE}: {describe(error)}") from None
        raise StoreError(
            f"cannot copy the database: {error}",
            hint="no backup was made; check space and permissions of both places",
        ) from error
    flush_file(copied)
    try:
        with reading(copied) as copy:
            listed = rows(copy, "SELECT name, bytes, hash FROM segment")
    except apsw.Error as error:
        raise StoreDamaged(f"{DATABASE} cannot be read: {error}") from None
    here = DirectorySegments(os.path.join(directory, SEGMENTS))
    there = DirectorySegments(os.path.join(target, SEGMENTS))
    batch: list[Packed] = []
    for name, size, digest in listed:
        progress(done, total, name)
        data = here.read(name)
        if len(data) != size or digest_of(data) != digest:
            raise StoreDamaged(f"segment {name} has changed")
        batch.append(Packed(name, data, 0, b""))
        done += size
        if sum(len(packed.data) for packed in batch) >= BATCH:
            there.put(batch)
            batch = []
    there.put(batch)
    progress(done, total, "other files")
    copy_files(directory, target)


@contextlib.contextmanager
def reading(path: str) -> Generator[Database]:
    """A database that no process writes to; nothing is created next to it."""
    if os.path.exists(path + "-wal") and os.path.getsize(path + "-wal"):
        database = connect(path, read_only=True)
    else:
        database = cast(
            "Database",
            apsw.Connection(
                file_uri(path, "immutable=1"),
                flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
            ),
        )
    try:
        yield database
    finally:
        database.close()


def check_backup(directory: str, progress: Progress) -> BackupContent:
    """Check a backup, or any store directory that is not in use; raises StoreDamaged."""
    path = os.path.join(directory, DATABASE)
    if not os.path.isfile(path):
        raise backups.missing(directory)
    manifest = backups.read_manifest(directory)
    if manifest is not None:
        wrong = list(backups.check_files(directory, manifest, progress))
        if wrong:
            raise _damaged(directory, wrong)
    progress(0, 1, f"checking {DATABASE}")
    try:
        with reading(path) as database:
            check_version(database)
            wrong = list(_wrong(database, directory, hashed=manifest))
            if wrong:
                raise _damaged(directory, wrong)
            sessions, events, last = rows(
                database,
                "SELECT count(*), coalesce(sum(event_count), 0), max(ended_at) FROM session"
                " WHERE event_count > 0",
            )[0]
            schema = schema_version(database)
            segments = int(value(database, "SELECT coalesce(sum(bytes), 0) FROM segment"))
    except apsw.Error as error:
        raise _damaged(directory, [f"{DATABASE} cannot be read: {error}"]) from None
    size = manifest.size if manifest else segments + os.path.getsize(path)
    return BackupContent(directory, manifest, schema, sessions, events, last, size)


def _wrong(database: Database, directory: str, hashed: Manifest | None) -> Iterator[str]:
    """What is wrong with a database or the segments it names, in words."""
    for (line,) in rows(database, "PRAGMA integrity_check(20)"):
        if line != "ok":
            yield f"{DATABASE}: {line}"
    for row in rows(database, "PRAGMA foreign_key_check"):
        yield f"{DATABASE}: {row[0]} row {row[1]} points at a missing {row[2]}"
    digests = {file.name: file.digest for file in hashed.files} if hashed else {}
    segments = DirectorySegments(os.path.join(directory, SEGMENTS))
    for name, digest in rows(database, "SELECT name, hash FROM segment"):
        inside = f"{SEGMENTS}/{os.path.basename(os.path.dirname(segments.path(name)))}/{name}"
        if digests.get(inside) == bytes(digest).hex():
            continue  # its bytes were just compared with this hash
        try:
            if digest_of(segments.read(name)) != digest:
                yield f"segment {name} has changed"
        except StoreDamaged as error:
            yield error.message
        except OSError as error:
            yield f"segment {name} cannot be read: {error.strerror}"


def _damaged(directory: str, wrong: list[str]) -> StoreDamaged:
    more = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
    return StoreDamaged(
        f"{directory} is damaged: {'; '.join(wrong[:SHOWN])}{more}",
        hint="the present store was not touched; use another backup",
    )
