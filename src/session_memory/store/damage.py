"""A store whose database is damaged or missing: how that is noticed and what is kept of it.

The damaged file is never written to and never deleted. A sweep renames it to
`store.db.damaged-<time>` together with its log, notes that in `damaged.json` and captures into a
fresh database. While the note is there, no segment file is deleted: the rows that know it may be in
the file that was kept. `session-memory store repair` joins both and removes the note.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec

from session_memory.atomic_files import replace_file
from session_memory.clock import iso
from session_memory.errors import DatabaseDamaged, StoreError, StoreMissing
from session_memory.store.marks import read_marks

DATABASE = "store.db"
SEGMENTS = "segments"
NOTE = "damaged.json"
COPY_PREFIX = DATABASE + ".damaged-"
UNCLAIMED = "unclaimed"
"""Folder of texts that a repair could match with no event."""
LOG_SUFFIXES = ("-wal", "-shm")
MAX_COPIES = 3
"""A disk that goes on failing must not fill up with copies."""


class Damage(msgspec.Struct, frozen=True):
    """What is wrong with a store until it is repaired."""

    since: int
    reason: str
    files: tuple[str, ...] = ()
    """Names of the databases that were kept, oldest first; none where it was missing."""
    in_place: bool = False
    """Whether the damaged database still stands where the store's database belongs."""
    gone: bool = False
    """Whether there was no database to keep: what only it knew is lost."""
    finished: bool = True
    """False while a file is being renamed: the next call finishes it."""

    @property
    def message(self) -> str:
        """One line for a user."""
        copies = f"; kept as {', '.join(self.files)}" if self.files else ""
        return f"{self.reason} (since {iso(self.since)}){copies}"


def known_damage(directory: str) -> Damage | None:
    """The note that a sweep or fsck left, if the store was not repaired since."""
    try:
        data = (Path(directory) / NOTE).read_bytes()
    except FileNotFoundError:
        return None
    try:
        return msgspec.json.decode(data, type=Damage)
    except msgspec.DecodeError:  # the files that were kept say as much
        return Damage(0, "the note about the damage cannot be read", damaged_copies(directory))


def damaged_copies(directory: str) -> tuple[str, ...]:
    """Every damaged database that was kept here, merged or not."""
    with contextlib.suppress(FileNotFoundError):
        names = (name for name in os.listdir(directory) if name.startswith(COPY_PREFIX))
        return tuple(sorted(name for name in names if not name.endswith(LOG_SUFFIXES)))
    return ()


def note_damage(directory: str, now_ms: int, reason: str) -> None:
    """Say that the database in place is damaged, so that the next sweep does not write to it."""
    if known_damage(directory) is None:
        _write(directory, Damage(now_ms, reason, in_place=True))


def clear_damage(directory: str) -> None:
    """The store is whole again."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(os.path.join(directory, NOTE))


def _write(directory: str, damage: Damage) -> None:
    replace_file(Path(directory) / NOTE, msgspec.json.encode(damage))


def keep_aside(directory: str, now_ms: int, reason: str, most: int | None = MAX_COPIES) -> Damage:
    """Rename the damaged database with its log; the caller holds the sweep's lock.

    The note comes first and the log before the database: cut off at any point, the next call goes
    on, and no log is ever left next to a database it does not belong to.
    """
    path = os.path.join(directory, DATABASE)
    gone = not os.path.exists(path)
    damage = known_damage(directory) or Damage(now_ms, reason, gone=gone)
    if damage.finished and os.path.exists(path):
        if most is not None and len(damage.files) >= most:
            raise StoreError(
                f"the database is damaged again: {reason}",
                hint="check the disk, then run `session-memory store repair`",
            )
        name = free_name(directory, COPY_PREFIX, now_ms)
        files = (*damage.files, name)
        damage = msgspec.structs.replace(damage, files=files, finished=False)
    _write(directory, damage)
    if not damage.finished:
        for suffix in (*LOG_SUFFIXES, ""):
            with contextlib.suppress(FileNotFoundError):
                os.rename(path + suffix, os.path.join(directory, damage.files[-1] + suffix))
    else:  # the database is missing: its log alone means nothing
        _drop_log(path)
    damage = msgspec.structs.replace(damage, finished=True, in_place=False)
    _write(directory, damage)
    return damage


def _drop_log(path: str) -> None:
    for suffix in LOG_SUFFIXES:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + suffix)


def free_name(directory: str, prefix: str, now_ms: int) -> str:
    """A name with the time in it that nothing in the directory has yet."""
    stamp = (iso(now_ms) or "").replace("-", "").replace(":", "")[:15] + "Z"
    name, number = prefix + stamp, 1
    while os.path.lexists(os.path.join(directory, name)):
        number += 1
        name = f"{prefix}{stamp}-{number}"
    return name


def has_segments(directory: str) -> bool:
    """Whether any text is here: then there was a database that knew it."""
    for _, _, names in os.walk(os.path.join(directory, SEGMENTS)):
        if any(name.endswith((".seg", ".segs")) for name in names):
            return True
    return False


def absent(directory: str) -> StoreError:
    """What it means that there is no database, or an empty one."""
    path = os.path.join(directory, DATABASE)
    refuse_no_file(path)
    if not has_segments(directory):
        return StoreMissing(f"no store at {path}")
    gone = "is empty" if os.path.exists(path) else "is missing"
    return DatabaseDamaged(f"the database {path} {gone}, but texts of a store are there")


def refuse_no_file(path: str) -> None:
    """Refuse a directory, pipe or dangling link in the place of the database.

    It may stand for a disk that is not mounted: nothing is made in its place.
    """
    if os.path.lexists(path) and not os.path.isfile(path):
        raise StoreError(
            f"{path} is not a file",
            hint="move it away, or fix it if it is a link; then run `session-memory store repair`",
        )


def was_removed(directory: str) -> bool:
    """Whether there was a database here and nothing is: the forget marks name its keys."""
    if os.path.lexists(os.path.join(directory, DATABASE)) or known_damage(directory):
        return False
    marks = read_marks(directory)
    return marks is not None and marks.keys is not None
