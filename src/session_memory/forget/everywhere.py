"""Forgetting and redacting in everything that lies beside the database, one feature after another.

Catalog and ledger, memories, journals, packs, the hooks' spool, the audit: each knows how to
forget; here they are called together, so that no verb can leave one out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from session_memory import audit
from session_memory.core.forget import FORGOTTEN, Gone, Remains
from session_memory.file_names import text_to_name
from session_memory.forget import patterns
from session_memory.forget.hook_files import forget_live
from session_memory.forget.packs import synced_files, take_out_packs
from session_memory.forget.patterns import Words
from session_memory.journal import forget as journals
from session_memory.memory import forget as memories
from session_memory.paths import Paths
from session_memory.store.damage import UNCLAIMED, kept_files
from session_memory.store.given_files import forget_given
from session_memory.store.port import Store
from session_memory.store.swap import ASIDE
from session_memory.worker.injection_pages import drop_pages


class Told(msgspec.Struct, frozen=True):
    """What forgetting did to files of the user, and what may still hold what was forgotten."""

    taken_out: tuple[str, ...] = ()
    """Files that agents read, from which something of ours was taken out."""
    remains: tuple[Remains, ...] = ()

    def __or__(self, other: Told) -> Told:
        return Told(
            tuple(dict.fromkeys((*self.taken_out, *other.taken_out))),
            tuple(dict.fromkeys((*self.remains, *other.remains))),
        )


def forget_sessions(store: Store, paths: Paths, vault: str, gone: Gone, now_ms: int) -> Told:
    """Take sessions, and projects that none is left of, out of everything.

    To be called before the rows of the sessions go, so that a run that was cut off can be repeated,
    and once more after, since until then somebody else could still make something of them.
    """
    if not gone.sessions:
        return Told()
    # Packs first: a file that was made for our block goes with it, unless something else is in it.
    packs, kept_packs = take_out_packs(store, paths.data, gone.packs, now_ms)
    given = patterns.unsay_sessions(store, paths.data, gone, now_ms)
    memories.forget_sessions(paths.data, paths.logs, gone.sessions)
    memories.forget_jobs(store, gone.sessions)
    journals.forget_sessions(paths.data, vault, gone.names, now_ms)
    left = (
        *memories.forget_places(paths.data, gone.roots),
        *journals.forget_places(paths.data, gone.roots),
    )
    forget_jobs(store, gone)
    forget_given(paths.data, {project.key for project in store.projects()} - gone.keys)
    forget_live(paths.state, gone, now_ms)
    drop_pages(paths.state)
    remains = (*given.remains, *kept_packs, *left, *_outside(paths, gone))
    audit.forget(paths.data, gone.owns, FORGOTTEN)
    return Told((*given.files, *packs), remains)


def forget_jobs(store: Store, gone: Gone) -> None:
    """Remove background work for places that are forgotten, and what speaks of them in errors."""
    for job in store.jobs.all():
        told = job.last_error or ""
        if gone.owns(job.key) or any(root in told for root in gone.roots):
            store.jobs.drop(job.id)


def _outside(paths: Paths, gone: Gone) -> Iterable[Remains]:
    """Copies that are not ours to change."""
    yield from agents_logs(gone.logs)
    wiring = paths.data / "install.json"
    if gone.roots and wiring.exists():
        text = wiring.read_text(encoding="utf-8", errors="replace")
        if any(msgspec.json.encode(root).decode()[1:-1] in text for root in gone.roots):
            why = "agents are wired in that project; `session-memory uninstall` takes it out"
            yield Remains(str(wiring), why)


def agents_logs(paths: Iterable[str]) -> Iterable[Remains]:
    """Logs that still exist."""
    for path in filter(_exists, paths):
        yield Remains(path, "it is the agent's own log, which is never changed")


def copies(paths: Paths) -> Iterable[Remains]:
    """Copies of the store, or of parts of it, that may hold anything that was ever in it."""
    yield from kept_copies(paths.data)
    written = audit.read(paths.data)
    for by, why in _COPIED.items():
        for path in filter(_exists, dict.fromkeys(one.path for one in written if one.by == by)):
            yield Remains(path, why)


_COPIED = {
    "export": "it was exported before; delete it if it holds what must go",
    "backup": "it is a backup; `restore` leaves out what is forgotten, but the words are in it:"
    " delete it if they must go",
}


def kept_copies(data: Path) -> Iterable[Remains]:
    """Copies within our own directory: the user's way back, so only the user deletes them."""
    for name in kept_files(str(data)):
        why = "a damaged database, kept aside; `session-memory repair --delete-kept` deletes it"
        yield Remains(str(data / name), why)
    for kept in sorted(data.glob(f"{ASIDE}*")):
        yield Remains(str(kept), "it is an earlier store, kept aside; delete it if it must go")
    if (unclaimed := data / UNCLAIMED).is_dir():
        yield Remains(str(unclaimed), "texts that belong to no session; delete it if they must go")


def _exists(path: str) -> bool:
    return os.path.exists(text_to_name(path))


def reword(store: Store, paths: Paths, vault: str, words: Words, now_ms: int) -> Told:
    """Replace words in everything; names files of the user that still hold them."""
    given = patterns.unsay(paths.data, words, now_ms)

    def holds(content: bytes) -> bool:
        text = content.decode("utf-8", "replace")
        return words(text) != text

    files = synced_files(store)
    packs, kept_packs = take_out_packs(store, paths.data, files, now_ms, holds)
    memories.reword(store, paths.data, paths.logs, words)
    journals.rewrite(paths.data, vault, words)
    drop_pages(paths.state)
    return Told((*given.files, *packs), (*given.remains, *kept_packs))


def is_said(paths: Paths, vault: str, words: Words) -> bool:
    """Whether anything beside the database holds words that `words` would replace."""
    return (
        patterns.is_said(paths.data, words)
        or memories.is_said(paths.data, words)
        or journals.count_edits(paths.data, vault, words) > 0
    )
