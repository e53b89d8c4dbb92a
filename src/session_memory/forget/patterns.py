"""Words and sessions that must go, in the catalog, proposals, ledger and files given to agents."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from pathlib import Path

from session_memory.core.forget import FORGOTTEN, Gone, Remains
from session_memory.curate.catalog import FOLDER, read_catalog
from session_memory.curate.forget import forget_sessions, reworded, rewrite_words
from session_memory.curate.wording import make_clean
from session_memory.distribute import ledger as ledgers
from session_memory.distribute.files import Look
from session_memory.distribute.forget import TakenOut, forget_given
from session_memory.distribute.state import holding
from session_memory.redact import Redactor
from session_memory.store.port import Store
from session_memory.worker.lessons import why_not

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


def unsay(data: Path, words: Words, now: int) -> TakenOut:
    """Take words out, also of our own blocks; names files of the user that still hold them."""
    touched = rewrite_words(data, words)
    ledgers.rewrite_words(data, words)
    taken = forget_given(data, touched, lambda _root: False, why_not, now)

    def holds(content: bytes) -> bool:
        text = content.decode("utf-8", "replace")
        return words(text) != text

    files = holding(ledgers.read_ledger(data), Look(), holds, also=taken.places)
    told = {one.where: one for one in taken.remains}
    why = "it still holds the words, outside of what is ours: edit it"
    remains = tuple(told.get(file, Remains(file, why)) for file in files)
    return TakenOut(taken.places, remains)


def unsay_sessions(store: Store, data: Path, gone: Gone, now: int) -> TakenOut:
    """Take sessions out of the catalog, and what only they said out of files given to agents."""
    changed = forget_sessions(data, gone, now)
    store.patterns.restore(
        [(one.id, one.kind, one.type, "retired") for one in changed.retired], now
    )
    taken = forget_given(data, changed.reworded, gone.owns, why_not, now)
    return TakenOut(taken.places, (*taken.remains, *_typed(data, changed.typed)))


def _typed(data: Path, names: Collection[str]) -> list[Remains]:
    """Patterns that stay because a person wrote their words."""
    files = ledgers.read_ledger(data).entries
    found: list[Remains] = []
    for name in names:
        given = [f"{one.place.root}/{one.place.path}" for one in files if name in one.patterns]
        places = f", given in {', '.join(given)}" if given else ""
        why = (
            f"only forgotten sessions spoke for it, but its words were written by hand{places};"
            f" `session-memory review retire {name}`, then `session-memory distribute`, takes it"
            " out of use"
        )
        found.append(Remains(str(data / FOLDER / f"{name}.toml"), why))
    return found
