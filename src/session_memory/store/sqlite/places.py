"""The word that every entry of the indexes over events begins with: the project it belongs to.

With it a search within a project goes from entry to entry of that project, and does not pass over
those of all others. A session that gets into another project later keeps its word: a search looks
for the words of all its sessions, and at the sessions besides.
"""

from __future__ import annotations

from collections.abc import Iterable

from session_memory.store.sqlite.connection import Database, value

KNOWN_SINCE = 22
"""The version of the schema that notes places: a store that is only read may be older."""
Entry = tuple[int, str]
"""The number of an event, and the text under which it is found."""


def place_word(place: int) -> str:
    """No word that people write, and one that the index takes as it is."""
    return f"\u01c1{place}"


def choose_place(db: Database, session_id: int) -> int:
    """Where a session is now, noted as what its entries say."""
    found = value(db, "SELECT coalesce(project_id, 0) FROM session WHERE id = ?", (session_id,))
    db.execute("UPDATE session SET place = ? WHERE id = ?", (found, session_id))
    return int(found)


def index_entries(
    db: Database, place: int | None, texts: Iterable[Entry], turns: Iterable[Entry]
) -> None:
    """Put events and turns into their indexes; without a place as older versions did."""
    head = "" if place is None else f"{place_word(place)} "
    for table, entries in (("event_text", texts), ("turn_text", turns)):
        db.executemany(
            f"INSERT INTO {table} (rowid, body) VALUES (?, ?)",
            [(event_id, head + text) for event_id, text in entries],
        )
