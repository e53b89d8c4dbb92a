"""Packs that were synced into files agents read: taken out when what they tell of is forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from session_memory.core.forget import Remains
from session_memory.core.text.own_text import PACK_BEGIN
from session_memory.errors import Refused
from session_memory.recall.pack_sync import note, plan_removal, seal_of, write
from session_memory.store.port import Store

_FOREIGN = "it holds a pack that this store cannot tell to be its own; delete it if it must go"


def synced_files(store: Store) -> tuple[str, ...]:
    """Every file that a pack was written into."""
    syncs = (sync.path for project in store.projects() for sync in store.syncs.all(project.id))
    return tuple(dict.fromkeys(syncs))


def take_out_packs(
    store: Store,
    data: Path,
    files: Iterable[str],
    now: int,
    chosen: Callable[[bytes], bool] = lambda _data: True,
) -> tuple[tuple[str, ...], tuple[Remains, ...]]:
    """Take our pack out of files; returns those that changed, and those that were left."""
    taken: list[str] = []
    remains: list[Remains] = []
    for path in files:
        try:
            plan = plan_removal(path, seal_of(store.tag_key))
            if not chosen(plan.before):
                continue
            if plan.after is not None:
                note(data, plan, "takes the pack out: what it told of is forgotten", now)
                write(plan)
                taken.append(path)
            elif PACK_BEGIN.encode() in plan.before:
                remains.append(Remains(path, _FOREIGN))
        except Refused as error:
            remains.append(Remains(path, f"{error.message}; {error.hint}"))
        except OSError as error:
            remains.append(Remains(path, f"the pack in it cannot be taken out: {error.strerror}"))
    return tuple(taken), tuple(remains)
