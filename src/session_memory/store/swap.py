"""Puts a prepared store in the place of the present one; a swap that is cut off is finished.

The new store is prepared in `restore.partial` inside the store's directory, where nothing reads it.
Then `restore.json` says what moves where, and the moves are renames: first the present files into
`before-restore-TIME`, then the new ones into their place. Whoever opens the store and finds
`restore.json` finishes the moves, so that no process ever sees parts of two stores.

Wiring of agents, locks and whatever else is in the directory stay where they are.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Generator

import msgspec

from session_memory.atomic_files import flush_directory, replace_file
from session_memory.errors import StoreError
from session_memory.store.damage import DATABASE, NOTE, SEGMENTS, free_name
from session_memory.store.directory import BACKED_UP
from session_memory.store.lock import exclusive

STAGING = "restore.partial"
PLAN = "restore.json"
LOCK = "restore.lock"
ASIDE = "before-restore-"
STAYS = ("distribution.json", "audit.jsonl")
"""Records of files outside the store: a restore does not change those, so these stay."""


class Plan(msgspec.Struct, frozen=True):
    """Which names move where."""

    aside: str
    out: tuple[str, ...]
    """Of the present store, into `aside`."""
    into: tuple[str, ...]
    """Of the new store, out of `restore.partial`."""


@contextlib.contextmanager
def staging(directory: str) -> Generator[str]:
    """An empty directory to prepare a store in; it is removed at the end, or by the next one."""
    place = os.path.join(directory, STAGING)
    drop_staging(directory)
    os.mkdir(place, 0o700)
    try:
        yield place
    finally:
        if not is_cut_off(directory):
            drop_staging(directory)


def drop_staging(directory: str) -> None:
    """Remove what a restore left that was cut off while it prepared; the caller holds its lock."""
    staging = os.path.join(directory, STAGING)
    if not is_cut_off(directory) and os.path.lexists(staging):
        import shutil  # 2 ms that an idle sweep does not need

        shutil.rmtree(staging)


def plan_swap(directory: str, now_ms: int) -> Plan:
    """What would move out of a directory, and into it from its staging."""
    here = sorted(name for name in _names(directory) if _moves(name))
    new = sorted(name for name in _names(os.path.join(directory, STAGING)) if _moves(name))
    stays = {name for name in STAYS if name in here}
    return Plan(
        free_name(directory, ASIDE, now_ms),
        tuple(name for name in here if name not in stays),
        tuple(name for name in new if name not in stays),
    )


def _names(directory: str) -> list[str]:
    try:
        return os.listdir(directory)
    except FileNotFoundError:
        return []


def _moves(name: str) -> bool:
    """Whether a name belongs to a store: its database, a log, a damaged copy, a file next to it."""
    return name.startswith(DATABASE) or name in (SEGMENTS, NOTE, *BACKED_UP)


def swap(directory: str, plan: Plan) -> None:
    """Do the moves; the staged store is complete."""
    for folder, _, _ in os.walk(os.path.join(directory, STAGING)):
        flush_directory(folder)
    # The name of the staged store must reach the disk before the plan that moves it.
    flush_directory(directory)
    with exclusive(os.path.join(directory, LOCK), "a restore", wait=True):
        replace_file(os.path.join(directory, PLAN), msgspec.json.encode(plan))
        _move(directory, plan)


def is_cut_off(directory: str) -> bool:
    """Whether a swap began and did not end."""
    return os.path.exists(os.path.join(directory, PLAN))


def finish(directory: str) -> None:
    """Finish a swap that was cut off; one that is under way is waited for."""
    if not is_cut_off(directory):
        return
    path = os.path.join(directory, PLAN)
    try:
        with exclusive(os.path.join(directory, LOCK), "a restore", wait=True):
            with open(path, "rb") as file:
                plan = msgspec.json.decode(file.read(), type=Plan)
            _move(directory, plan)
    except FileNotFoundError:
        if is_cut_off(directory):
            raise
        return  # another process was quicker
    except (OSError, msgspec.DecodeError) as error:
        raise StoreError(
            f"a restore of {directory} was interrupted and cannot be finished: {error}",
            hint="fix that, then run any command, such as `session-memory status`: it continues",
        ) from error


def _move(directory: str, plan: Plan) -> None:
    """Make every move that is not done yet; it can be called again."""
    aside, new = os.path.join(directory, plan.aside), os.path.join(directory, STAGING)
    if plan.out:
        with contextlib.suppress(FileExistsError):
            os.mkdir(aside, 0o700)
        # If a power cut took this directory away, the new store would be moved out in the old one's
        # place when the swap goes on.
        flush_directory(directory)
        for name in plan.out:
            if not os.path.lexists(os.path.join(aside, name)):
                # Its log is folded in by whoever closes the database last: it may be gone.
                with contextlib.suppress(FileNotFoundError):
                    os.replace(os.path.join(directory, name), os.path.join(aside, name))
        flush_directory(aside)
    for name in plan.into:
        if os.path.lexists(os.path.join(new, name)):
            os.replace(os.path.join(new, name), os.path.join(directory, name))
    flush_directory(directory)
    os.unlink(os.path.join(directory, PLAN))
    flush_directory(directory)
    drop_staging(directory)
