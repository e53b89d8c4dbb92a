"""The word that every entry of the indexes over events begins with: the project it belongs to.

With it a search within a project goes from entry to entry of that project, and does not pass over
those of all others. A session that gets into another project later keeps its word: a search looks
for the words of all its sessions, and at the sessions besides.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from session_memory.store.sqlite.connection import Database, for_each

PLACES_SINCE = 22
"""The version of the schema that notes places: a store that is only read may be older."""
Entry = tuple[int, str]
"""The number of an event, and the text under which it is found."""


def place_word(place: int) -> str:
    """No word that people write, and one that the index takes as it is."""
    return f"\u01c1{place}"


def choose_places(db: Database, sessions: Iterable[int]) -> dict[int, int]:
    """Where sessions are now: to be noted as what their entries say."""
    sql = "SELECT id, coalesce(project_id, 0) FROM session WHERE id = ?"
    return dict(for_each(db, sql, sessions))


def choose_place(db: Database, session_id: int) -> int:
    """Where a session is now, noted as what its entries say."""
    place = choose_places(db, [session_id])[session_id]
    db.execute("UPDATE session SET place = ? WHERE id = ?", (place, session_id))
    return place


class Entries(msgspec.Struct):
    """What the indexes are to hold of one session."""

    place: int | None
    """None where its entries have none, as older versions wrote them."""
    texts: Sequence[Entry]
    turns: Sequence[Entry]


def index_entries(db: Database, sessions: Sequence[Entries]) -> None:
    """Put events and turns into their indexes."""
    for table in ("event_text", "turn_text"):
        db.executemany(
            f"INSERT INTO {table} (rowid, body) VALUES (?, ?)",
            (
                (event_id, head + text)
                for session in sessions
                for head in ("" if session.place is None else f"{place_word(session.place)} ",)
                for event_id, text in (session.texts if table == "event_text" else session.turns)
            ),
        )
