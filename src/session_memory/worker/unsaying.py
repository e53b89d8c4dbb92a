"""Words that must go, in what lies beside the store: the catalog, proposals and the ledger.

Files that agents read belong to the user: they are not rewritten here. Where one still holds the
words, that is told, with what to do about it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from pathlib import Path

from session_memory.curate.catalog import read_catalog
from session_memory.curate.forgetting import forget_sessions, reworded, rewrite_words
from session_memory.curate.wording import make_clean
from session_memory.distribute import ledger as ledgers
from session_memory.distribute.files import Look
from session_memory.distribute.state import holding
from session_memory.ingest.forget import FORGOTTEN
from session_memory.redact import Redactor

Words = Callable[[str], str]


def without_text(text: str, *, ignore_case: bool = False) -> Words:
    """A function that puts our placeholder where a text stands."""
    found = re.compile(re.escape(text), re.IGNORECASE if ignore_case else 0)
    return lambda said: found.sub(FORGOTTEN, said)


def without_secrets(redactor: Redactor) -> Words:
    """A function that redacts; a text without a secret stays as it is."""
    clean = make_clean(redactor)
    return lambda said: said if redactor.redact_text(said) == said else clean(said)


def is_said(data: Path, words: Words) -> bool:
    """Whether the catalog, proposals or the ledger hold such words."""
    catalog = read_catalog(data)
    entries = (*catalog.patterns.values(), *catalog.proposals.values())
    kept = [text for entry in ledgers.read_ledger(data).entries for text in entry.replaced]
    return any(reworded(one, words) != one for one in entries) or any(
        words(text) != text for text in kept
    )


def unsay(data: Path, words: Words) -> tuple[str, ...]:
    """Take the words out; returns warnings on files of the user that still hold them."""
    rewrite_words(data, words)
    ledgers.rewrite_words(data, words)

    def holds(content: bytes) -> bool:
        text = content.decode("utf-8", "replace")
        return words(text) != text

    found = holding(ledgers.read_ledger(data), Look(), holds)
    cure = "run `session-memory distribute`; what stands outside our block is yours to edit"
    return tuple(f"{file} still holds it: {cure}" for file in found)


def unsay_sessions(data: Path, gone: Collection[tuple[str, str]]) -> tuple[str, ...]:
    """Take sessions out of the catalog; warns of patterns given that nobody else speaks for."""
    touched = forget_sessions(data, gone)
    catalog, ledger = read_catalog(data), ledgers.read_ledger(data)
    warnings: list[str] = []
    for name in touched:
        current = catalog.patterns[name].current
        files = [entry for entry in ledger.entries if name in entry.patterns]
        if files and not current.snapshot.session_ids:
            places = ", ".join(f"{entry.place.root}/{entry.place.path}" for entry in files)
            cure = f"`session-memory review retire {name}`, then `session-memory distribute`"
            warnings.append(f"only forgotten sessions spoke for {name}, given in {places}: {cure}")
    return tuple(warnings)
