"""A session as another store can take it over, and the evicted part of one that came from there."""

from __future__ import annotations

import msgspec

from session_memory.core.facts import Fact
from session_memory.errors import Refused
from session_memory.store.exchange import Gone, Note, Origins, is_imported
from session_memory.store.sqlite.connection import Database, rows, transaction, value
from session_memory.store.sqlite.event_copies import delete_event
from session_memory.store.sqlite.ids import event_range
from session_memory.store.values import UsageDraft

_USAGE = (
    "key, model, at, input, output, cache_read, cache_write_5m, cache_write_1h, reasoning,"
    " stated_usd, usd, price_table, sidechain, mode"
)
_USED = ("session", "source", "tombstone", "forgotten_session", "forgotten_source")
_encode = msgspec.json.Encoder().encode


class SqliteExchange:
    """See store.exchange.Exchange."""

    def __init__(self, connection: Database) -> None:
        self._db = connection

    def find(self, flavor: str, external_id: str) -> int | None:
        """See store.exchange.Exchange."""
        return value(
            self._db,
            "SELECT id FROM session WHERE flavor = ? AND external_id = ?",
            (flavor, external_id),
        )

    def origins(self, session_id: int) -> Origins:
        """See store.exchange.Exchange."""
        db = self._db
        paths = rows(
            db,
            "SELECT s.id, s.path FROM session_source l JOIN source s ON s.id = l.source_id"
            " WHERE l.session_id = ? ORDER BY s.path",
            (session_id,),
        )
        facts = rows(
            db,
            "SELECT f.source_id, f.name, f.value, f.pos FROM fact f JOIN source s"
            " ON s.id = f.source_id WHERE f.session_id = ? ORDER BY s.path, f.pos, f.name, f.slot",
            (session_id,),
        )
        responses = rows(
            db,
            "SELECT id, usage_key FROM event WHERE id BETWEEN ? AND ? AND usage_key IS NOT NULL",
            event_range(session_id),
        )
        return Origins(
            paths=dict(paths),
            facts=tuple((r[0], Fact(r[1], msgspec.json.decode(r[2]), r[3])) for r in facts),
            notes=self._notes(session_id),
            usages=self._usages(session_id),
            responses=dict(responses),
            lasting=frozenset(
                row[0]
                for row in rows(
                    db,
                    "SELECT hash FROM observation WHERE session_id = ?"
                    " AND (evicted = 1 OR source = 'manual_note')",
                    (session_id,),
                )
            ),
        )

    def _notes(self, session_id: int) -> tuple[Note, ...]:
        selected = rows(
            self._db,
            "SELECT n.name, n.value, n.at FROM session_note n JOIN session s"
            " ON s.flavor = n.flavor AND s.external_id = n.external_id WHERE s.id = ?"
            " ORDER BY n.name",
            (session_id,),
        )
        return tuple(Note(*row) for row in selected)

    def _usages(self, session_id: int) -> tuple[UsageDraft, ...]:
        selected = rows(
            self._db,
            f"SELECT {_USAGE} FROM usage WHERE session_id = ? ORDER BY at, key",
            (session_id,),
        )
        return tuple(
            UsageDraft(*row[:12], sidechain=bool(row[12]), mode=row[13]) for row in selected
        )

    def forgotten(self) -> frozenset[int]:
        """See store.exchange.Exchange."""
        return frozenset(row[0] for row in rows(self._db, "SELECT fingerprint FROM tombstone"))

    def is_blank(self) -> bool:
        """See store.exchange.Exchange."""
        any_row = " UNION ALL ".join(f"SELECT EXISTS (SELECT 1 FROM {table})" for table in _USED)
        return not any(row[0] for row in rows(self._db, any_row))

    def adopt(self, fingerprint_key: bytes) -> None:
        """See store.exchange.Exchange."""
        with transaction(self._db):
            if not self.is_blank():
                raise Refused("a store that holds sessions cannot change its key")
            self._db.execute(
                "UPDATE meta SET value = ? WHERE name = 'fingerprint_key'", (fingerprint_key,)
            )
            self._db.execute("DELETE FROM meta WHERE name = 'marks_file'")  # it names the old key

    def expect_twins(self) -> None:
        """See store.exchange.Exchange."""
        self._db.execute("INSERT OR IGNORE INTO meta VALUES ('imported', x'01')")

    def add_notes(self, flavor: str, external_id: str, notes: tuple[Note, ...]) -> None:
        """See store.exchange.Exchange."""
        self._db.executemany(
            "INSERT INTO session_note VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE"
            " SET value = excluded.value, at = excluded.at WHERE excluded.at > at",
            [(flavor, external_id, note.name, note.value, note.at) for note in notes],
        )

    def restore_gone(self, session_id: int, gone: Gone) -> None:
        """See store.exchange.Exchange."""
        db = self._db
        db.execute(
            "UPDATE observation SET evicted = 1 WHERE session_id = ? AND source = 'turn_extract'"
            " AND hash IN (SELECT value FROM json_each(?))",
            (session_id, _encode(gone.lasting).decode()),
        )
        db.execute(
            "UPDATE session SET event_count = event_count + ?, state = CASE WHEN ?"
            " THEN 'raw_evicted' ELSE state END WHERE id = ?",
            (gone.events, gone.whole, session_id),
        )
        if gone.digest is not None:
            db.execute(
                "INSERT OR REPLACE INTO evicted_digest VALUES (?, ?)",
                (session_id, _encode(gone.digest).decode()),
            )


_SAME = (
    "session_id, at, model, mode, input, output, cache_read, cache_write_5m, cache_write_1h,"
    " reasoning"
)
# All tags of redacted secrets are of one length, so the length stays what the log gives.
_ALIKE = "kind, at, coalesce(call_id, ''), coalesce(tool, ''), body_len"


def drop_twin_responses(db: Database, keys: set[int]) -> None:
    """Responses that were imported under a made-up key and that a log has brought since."""
    if not _expects_twins(db):
        return
    for session_id, keys_json in rows(
        db,
        "SELECT session_id, json_group_array(key) FROM usage WHERE at IS NOT NULL"
        " AND session_id IN (SELECT session_id FROM usage"
        f" WHERE key IN (SELECT value FROM json_each(?))) GROUP BY {_SAME} HAVING count(*) > 1",
        (_encode(sorted(keys)).decode(),),
    ):
        numbers = msgspec.json.decode(keys_json, type=list[int])
        made, logged = _split_by_origin(db, [(number, number) for number in numbers])
        for number in made if logged else ():
            db.execute("DELETE FROM usage WHERE key = ? AND session_id = ?", (number, session_id))
            db.execute(
                "UPDATE event SET usage_key = ? WHERE id BETWEEN ? AND ? AND usage_key = ?",
                (logged[0], *event_range(session_id), number),
            )
            keys.discard(number)


def drop_twin_events(db: Database, sessions: set[int]) -> None:
    """Events that were imported with a secret redacted and that a log has brought since."""
    if not _expects_twins(db):
        return
    for session_id in sessions:
        for (events_json,) in rows(
            db,
            "SELECT json_group_array(json_array(fingerprint, id)) FROM event"
            " WHERE id BETWEEN ? AND ? AND superseded = 0 AND at IS NOT NULL"
            f" GROUP BY {_ALIKE} HAVING count(*) > 1",
            event_range(session_id),
        ):
            made, logged = _split_by_origin(
                db, msgspec.json.decode(events_json, type=list[tuple[int, int]])
            )
            for twin, event_id in zip(made, logged, strict=False):
                _replace(db, twin, event_id)


def _replace(db: Database, twin: int, event_id: int) -> None:
    """Let an event stand for its imported twin, in both their files, as any copy does."""
    place = "SELECT s.path, e.source_id, e.pos FROM event e JOIN source s ON s.id = e.source_id"
    both = rows(db, f"{place} WHERE e.id IN (?, ?) ORDER BY s.path", (twin, event_id))
    delete_event(db, twin)
    (_, source_id, pos), (_, *copy) = both
    db.execute("UPDATE event SET source_id = ?, pos = ? WHERE id = ?", (source_id, pos, event_id))
    if copy[0] != source_id:
        db.execute("INSERT OR REPLACE INTO event_copy VALUES (?, ?, ?)", (event_id, *copy))


def _expects_twins(db: Database) -> bool:
    return value(db, "SELECT 1 FROM meta WHERE name = 'imported'") is not None


def _split_by_origin(db: Database, numbered: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Of (number, id): the ids under numbers that an import made up, and those a log gave."""
    key = bytes(value(db, "SELECT value FROM meta WHERE name = 'fingerprint_key'"))
    made = [own for number, own in numbered if is_imported(key, number)]
    return made, [own for _, own in numbered if own not in made]
