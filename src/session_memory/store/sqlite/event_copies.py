"""The same event in several files of one session: which file holds it, and what if it stops."""

from __future__ import annotations

from collections.abc import Callable, Collection, Set

import msgspec

from session_memory.errors import NotFound, StoreDamaged
from session_memory.store.segments import SegmentReader
from session_memory.store.sqlite import lost_events, queries
from session_memory.store.sqlite.connection import Database, rows, value
from session_memory.store.sqlite.ids import SEQ_BITS, event_range
from session_memory.store.values import EventDraft, Holder, LostEvent

PathOf = Callable[[int], str]
"""Path of a source: files of one session rank by it."""


def holders(db: Database, fingerprints: list[int]) -> dict[int, list[Holder]]:
    """Every session that holds events of these fingerprints, here or evicted."""
    wanted = msgspec.json.encode(fingerprints).decode()
    by_fingerprint: dict[int, list[Holder]] = {}
    for fingerprint, event_id, source_id, pos in db.execute(
        "SELECT e.fingerprint, e.id, e.source_id, e.pos FROM json_each(?) j"
        " CROSS JOIN event e ON e.fingerprint = j.value",
        (wanted,),
    ):
        holder = Holder(event_id >> SEQ_BITS, event_id, source_id, pos)
        by_fingerprint.setdefault(fingerprint, []).append(holder)
    if value(db, "SELECT 1 FROM evicted_event LIMIT 1") is None:
        return by_fingerprint
    for fingerprint, session_id, gone in db.execute(
        "SELECT k.fingerprint, k.session_id, k.lost FROM json_each(?) j"
        " CROSS JOIN evicted_event k ON k.fingerprint = j.value",
        (wanted,),
    ):
        holder = Holder(session_id, None, None, None, lost=bool(gone))
        by_fingerprint.setdefault(fingerprint, []).append(holder)
    return by_fingerprint


def confirm(
    db: Database, path_of: PathOf, source_id: int, copies: list[tuple[int, EventDraft]]
) -> None:
    """Note that a source holds events the session has already: they are there once.

    The source that holds an event also says what became of it: agents write a result first and
    its outcome later.
    """
    for event_id, draft in copies:
        pos = draft.pos
        row = db.execute(
            "SELECT source_id, pos, superseded, exit_code, is_error FROM event WHERE id = ?",
            (event_id,),
        ).fetchone()
        if row is None:
            continue
        owner, at, superseded, *known = row
        if owner == source_id or superseded:
            db.execute(
                "UPDATE event SET source_id = ?, pos = ?, superseded = 0 WHERE id = ?",
                (source_id, pos, event_id),
            )
            if superseded:
                _count(db, event_id, 1)
            _refresh(db, event_id, draft)
            continue
        outcome = [draft.exit_code if known[0] is None else known[0], known[1] or draft.is_error]
        if outcome != known:  # a copy may lack what the other says of the end
            db.execute(
                "UPDATE event SET exit_code = ?, is_error = ? WHERE id = ?", (*outcome, event_id)
            )
        # The file that ranks first holds the event; the others are noted as copies.
        first, second = (source_id, pos), (owner, at)
        if path_of(source_id) > path_of(owner):
            first, second = second, first
        else:
            db.execute("UPDATE event SET source_id = ?, pos = ? WHERE id = ?", (*first, event_id))
            db.execute(
                "DELETE FROM event_copy WHERE event_id = ? AND source_id = ?",
                (event_id, first[0]),
            )
        db.execute(
            "INSERT INTO event_copy (event_id, source_id, pos) VALUES (?, ?, ?)"
            " ON CONFLICT DO UPDATE SET pos = excluded.pos",
            (event_id, *second),
        )


def _refresh(db: Database, event_id: int, draft: EventDraft) -> None:
    values = (
        draft.origin,
        draft.tool,
        draft.tool_class,
        int(draft.is_error),
        draft.exit_code,
        msgspec.json.encode(draft.files).decode() if draft.files else None,
        draft.label,
        draft.usage_key,
    )
    columns = "origin, tool, tool_class, is_error, exit_code, files, label, usage_key"
    if db.execute(f"SELECT {columns} FROM event WHERE id = ?", (event_id,)).fetchone() != values:
        db.execute(
            f"UPDATE event SET ({columns}) = (?, ?, ?, ?, ?, ?, ?, ?) WHERE id = ?",
            (*values, event_id),
        )


def retire(db: Database, source_id: int, seen: set[int], *, delete: bool) -> int:
    """Events that a re-read source no longer holds: handed to a copy, superseded, or deleted."""
    retired = 0
    for event_id in _held_by(db, source_id):
        if event_id in seen:
            continue
        if _hand_over(db, event_id):
            continue
        if delete:
            delete_event(db, event_id)
            retired += 1
        else:
            db.execute("UPDATE event SET superseded = 1 WHERE id = ?", (event_id,))
            _count(db, event_id, -1)
            retired += 1
    for (event_id,) in rows(
        db, "SELECT event_id FROM event_copy WHERE source_id = ?", (source_id,)
    ):
        if event_id not in seen:
            db.execute(
                "DELETE FROM event_copy WHERE event_id = ? AND source_id = ?",
                (event_id, source_id),
            )
    if delete:
        lost_events.drop_unknown(db, source_id)
    return retired


def holds_beginning(db: Database, aside: int, seen: set[int]) -> bool:
    """Whether what was seen is of this source, and stands before all that only it holds."""
    copied = dict(rows(db, "SELECT event_id, pos FROM event_copy WHERE source_id = ?", (aside,)))
    if not seen <= copied.keys():
        return False
    first = _first_held(db, aside)
    return first is None or all(copied[event_id] <= first[0] for event_id in seen)


def first_lost(db: Database, aside: int, reader: SegmentReader) -> LostEvent | None:
    """The first event that only this source holds."""
    if (first := _first_held(db, aside)) is None:
        return None
    _, event_id, kind, at = first
    try:
        return LostEvent(kind, at, queries.text(db, event_id, reader))
    except (NotFound, StoreDamaged):
        return None


def _first_held(db: Database, source_id: int) -> tuple[int, int, str, int | None] | None:
    """(pos, id, kind, time) of the first live event of a source."""
    return db.execute(
        "SELECT e.pos, e.id, e.kind, e.at FROM session_source l JOIN event e ON e.id BETWEEN"
        " l.session_id << 24 AND (l.session_id + 1 << 24) - 1 AND e.source_id = l.source_id"
        " AND NOT e.superseded WHERE l.source_id = ? ORDER BY e.pos, e.id LIMIT 1",
        (source_id,),
    ).fetchone()


def step_aside(db: Database, session_id: int, sources: Collection[int]) -> None:
    """Let the other files of a session hold what these hold; what only they have is superseded."""
    for source_id in sources:
        for (event_id,) in rows(
            db,
            "SELECT id FROM event WHERE id BETWEEN ? AND ? AND source_id = ? AND superseded = 0",
            (*event_range(session_id), source_id),
        ):
            if not _hand_over(db, event_id, sources):
                db.execute("UPDATE event SET superseded = 1 WHERE id = ?", (event_id,))
                _count(db, event_id, -1)


def hand_back(db: Database, source_id: int, earlier: list[int]) -> None:
    """Let the first of some earlier sources hold what this one holds and it has a copy of."""
    held = set(_held_by(db, source_id)) if earlier else set[int]()
    for heir in earlier:
        for event_id, pos in rows(
            db, "SELECT event_id, pos FROM event_copy WHERE source_id = ?", (heir,)
        ):
            if event_id in held:
                held.remove(event_id)
                _exchange(db, event_id, (heir, pos))


def _exchange(db: Database, event_id: int, heir: tuple[int, int]) -> None:
    """Give an event to the holder of a copy of it, who held it so far holds a copy then."""
    former = db.execute("SELECT id, source_id, pos FROM event WHERE id = ?", (event_id,)).fetchone()
    db.execute("UPDATE event SET source_id = ?, pos = ? WHERE id = ?", (*heir, event_id))
    db.execute("DELETE FROM event_copy WHERE event_id = ? AND source_id = ?", (event_id, heir[0]))
    db.execute(
        "INSERT OR REPLACE INTO event_copy (event_id, source_id, pos) VALUES (?, ?, ?)", former
    )


def give_way(db: Database, session_id: int, sources: Collection[int], twins: Set[int]) -> None:
    """Let the other files of a session hold what these hold as well; these keep the rest.

    Of `twins` the others hold a copy with another time.
    """
    for source_id in sources:
        for event_id, pos in rows(
            db,
            "SELECT id, pos FROM event WHERE id BETWEEN ? AND ? AND source_id = ?"
            " AND superseded = 0",
            (*event_range(session_id), source_id),
        ):
            if _hand_over(db, event_id, sources):
                db.execute(
                    "INSERT OR REPLACE INTO event_copy (event_id, source_id, pos) VALUES (?, ?, ?)",
                    (event_id, source_id, pos),
                )
            elif event_id in twins:
                db.execute("UPDATE event SET superseded = 1 WHERE id = ?", (event_id,))
                _count(db, event_id, -1)


def _hand_over(db: Database, event_id: int, but: Collection[int] = ()) -> bool:
    """Give an event to the first of the other files that hold it; False where there is none.

    Files in `but` do not count.
    """
    heir = db.execute(
        "SELECT c.source_id, c.pos FROM event_copy c JOIN source s ON s.id = c.source_id"
        " WHERE c.event_id = ? AND c.source_id NOT IN (SELECT value FROM json_each(?))"
        " ORDER BY s.path LIMIT 1",
        (event_id, msgspec.json.encode(list(but)).decode()),
    ).fetchone()
    if heir is None:
        return False
    db.execute("UPDATE event SET source_id = ?, pos = ? WHERE id = ?", (*heir, event_id))
    db.execute("DELETE FROM event_copy WHERE event_id = ? AND source_id = ?", (event_id, heir[0]))
    return True


def _held_by(db: Database, source_id: int) -> list[int]:
    held: list[int] = []
    for (session_id,) in rows(
        db, "SELECT session_id FROM session_source WHERE source_id = ?", (source_id,)
    ):
        selected = db.execute(
            "SELECT id FROM event WHERE id BETWEEN ? AND ? AND source_id = ? AND superseded = 0",
            (*event_range(session_id), source_id),
        )
        held.extend(row[0] for row in selected)
    return held


def _count(db: Database, event_id: int, change: int) -> None:
    """A session counts its live events: what was seen while a line was half written is none."""
    db.execute(
        "UPDATE session SET event_count = event_count + ? WHERE id = ? >> 24", (change, event_id)
    )


def delete_event(db: Database, event_id: int) -> None:
    """Take an event out, with its entries in the indexes."""
    for table, column in (("event_text", "rowid"), ("turn_text", "rowid"), ("event", "id")):
        db.execute(f"DELETE FROM {table} WHERE {column} = ?", (event_id,))
    db.execute(
        "UPDATE session SET event_count = event_count - 1, raw_events = raw_events - 1"
        " WHERE id = ? >> 24",
        (event_id,),
    )
