"""Forgetting and redacting in everything that lies beside the database, one feature after another.

Catalog and ledger, memories, journals, the hooks' spool: each knows how to unsay something; here
they are called together, so that no verb can leave one out.
"""

from __future__ import annotations

from collections.abc import Collection

from session_memory.journal import forgetting as journals
from session_memory.memory import forgetting as memories
from session_memory.paths import Paths
from session_memory.store.given_files import forget_given
from session_memory.store.port import Store
from session_memory.worker import unsaying
from session_memory.worker.forgetting import forget_live
from session_memory.worker.injection import drop_pages
from session_memory.worker.unsaying import Words

Named = Collection[tuple[str, str]]
"""Sessions as (flavour, native id)."""


def forget_sessions(
    store: Store, paths: Paths, vault: str, gone: Named, now_ms: int
) -> tuple[str, ...]:
    """Take sessions out of everything; returns what there is to warn about."""
    names = {name for _, name in gone}
    warnings = unsaying.unsay_sessions(paths.data, gone)
    memories.forget_sessions(paths.data, paths.logs, gone)
    memories.forget_jobs(store, gone)
    journals.forget_sessions(paths.data, vault, names, now_ms)
    forget_given(paths.data, {project.key for project in store.projects()})
    forget_live(paths.state, names, now_ms)
    drop_pages(paths.state)
    return warnings


def reword(store: Store, paths: Paths, vault: str, words: Words) -> tuple[str, ...]:
    """Replace words in everything; returns warnings on files of the user that hold them."""
    warnings = unsaying.unsay(paths.data, words)
    memories.reword(store, paths.data, paths.logs, words)
    journals.rewrite(paths.data, vault, words)
    drop_pages(paths.state)
    return warnings


def is_said(paths: Paths, vault: str, words: Words) -> bool:
    """Whether anything beside the database holds words that `words` would replace."""
    return (
        unsaying.is_said(paths.data, words)
        or memories.is_said(paths.data, words)
        or journals.count_edits(paths.data, vault, words) > 0
    )
