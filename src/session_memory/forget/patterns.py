"""Forgetting in the catalog, the proposals, the ledger and the files given to agents."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from session_memory.core.forget import ForgottenSessions, Remains
from session_memory.curate import forget as catalogs
from session_memory.curate.catalog import FOLDER, read_catalog
from session_memory.distribute import ledger as ledgers
from session_memory.distribute.files import FileReader
from session_memory.distribute.forget import forget_given
from session_memory.distribute.state import files_holding
from session_memory.forget.report import ForgetContext, ForgetReport, Rewrite, would_change
from session_memory.worker.lessons import writing_problem


def forget_sessions(context: ForgetContext, forgotten: ForgottenSessions) -> ForgetReport:
    """Take sessions out of the catalog, and what only they said out of files given to agents."""
    data, now = context.paths.data, context.now
    changed = catalogs.forget_sessions(data, forgotten, now)
    context.store.patterns.restore(
        [(pattern.id, pattern.kind, pattern.type, "retired") for pattern in changed.retired], now
    )
    removal = forget_given(data, changed.reworded, forgotten.owns, writing_problem, now)
    return ForgetReport(removal.files, (*removal.remains, *_typed(data, changed.typed)))


def rewrite(context: ForgetContext, rewrite: Rewrite) -> ForgetReport:
    """Take words out, also of our own blocks; reports files of the user that still hold them."""
    data = context.paths.data
    touched = catalogs.rewrite_words(data, rewrite)
    ledgers.rewrite_words(data, rewrite)
    removal = forget_given(data, touched, lambda _root: False, writing_problem, context.now)
    files = files_holding(
        ledgers.read_ledger(data),
        FileReader(),
        lambda content: would_change(content, rewrite),
        also=removal.places,
    )
    reasons = {remains.where: remains for remains in removal.remains}
    why = "it still holds the words, outside of what is ours: edit it"
    return ForgetReport(
        removal.files, tuple(reasons.get(file, Remains(file, why)) for file in files)
    )


def contains(context: ForgetContext, rewrite: Rewrite) -> bool:
    """Whether the catalog, the proposals or the ledger hold words that must go."""
    data = context.paths.data
    catalog = read_catalog(data)
    entries = (*catalog.patterns.values(), *catalog.proposals.values())
    edits = [text for entry in ledgers.read_ledger(data).entries for text in entry.replaced]
    return any(catalogs.reworded(entry, rewrite) != entry for entry in entries) or any(
        rewrite(text) != text for text in edits
    )


def _typed(data: Path, names: Collection[str]) -> list[Remains]:
    """Patterns that stay because a person wrote their words."""
    entries = ledgers.read_ledger(data).entries
    remains: list[Remains] = []
    for name in names:
        files = [entry.place.full_path for entry in entries if name in entry.patterns]
        where = f", given in {', '.join(files)}" if files else ""
        why = (
            f"only forgotten sessions spoke for it, but its words were written by hand{where};"
            f" `session-memory rules retire {name}`, then `session-memory rules distribute`,"
            " takes it out of use"
        )
        remains.append(Remains(str(data / FOLDER / f"{name}.toml"), why))
    return remains
