"""Events recorded by hooks: turns, facts, injections; by native ids, since no log is needed."""

from __future__ import annotations

import msgspec

from session_memory.core.spool import SpoolRecord
from session_memory.store.sqlite.connection import Database, rows, transaction
from session_memory.store.values import Injection

NOTED = ("model", "source", "client", "cwd")
_encode = msgspec.json.Encoder().encode


class SqliteLive:
    """See store.port.Live."""

    def __init__(self, connection: Database) -> None:
        self._db = connection

    def note(self, records: list[SpoolRecord]) -> int:
        """Store records once; returns how many turns were new (IDN-09, IDN-10)."""
        new_turns = 0
        with transaction(self._db):
            for record in records:
                if not record.session:
                    continue
                name = (record.flavor, record.session)
                if record.turn and record.kind == "turn_end":
                    new_turns += self._turn(name, record)
                self._facts(name, record)
                if record.given is not None or record.held is not None:
                    self._db.execute(
                        "INSERT OR IGNORE INTO injection VALUES (?, ?, ?, ?, ?, ?)",
                        (
                            record.id,
                            *name,
                            record.at,
                            _encode(record.given or ()).decode(),
                            _encode(record.held or ()).decode(),
                        ),
                    )
        return new_turns

    def _turn(self, name: tuple[str, str], record: SpoolRecord) -> int:
        added = self._db.execute(
            "INSERT OR IGNORE INTO turn VALUES (?, ?, ?, ?) RETURNING 1",
            (*name, record.turn, record.at),
        ).fetchall()
        return len(added)

    def _facts(self, name: tuple[str, str], record: SpoolRecord) -> None:
        for fact in NOTED:
            text = getattr(record, fact)
            if isinstance(text, str) and text.strip():
                self._db.execute(
                    "INSERT INTO session_note VALUES (?, ?, ?, ?, ?)"
                    " ON CONFLICT DO UPDATE SET value = excluded.value, at = excluded.at"
                    " WHERE excluded.at >= at",
                    (*name, fact, text, record.at),
                )
                if fact != "cwd":
                    self._db.execute(
                        "UPDATE session SET metadata = json_patch(metadata, json_object(?, ?))"
                        " WHERE flavor = ? AND external_id = ?",
                        (f"hook_{fact}", text, *name),
                    )

    def notes(self, flavor: str, external_id: str) -> dict[str, str]:
        """The small facts known of a session."""
        selected = rows(
            self._db,
            "SELECT name, value FROM session_note WHERE flavor = ? AND external_id = ?",
            (flavor, external_id),
        )
        return dict(selected)

    def injections(self, flavor: str, external_id: str) -> list[Injection]:
        """What was given to a session, oldest first."""
        return [
            Injection(row[0], row[1], tuple(msgspec.json.decode(row[2])), tuple(_ids(row[3])))
            for row in rows(
                self._db,
                "SELECT id, at, given, held FROM injection WHERE flavor = ? AND external_id = ?"
                " ORDER BY at, id",
                (flavor, external_id),
            )
        ]

    def given_with(self, beginning: str) -> list[tuple[str, str, tuple[str, ...]]]:
        """Flavour, session and names, of every record that gave something named so, by time."""
        selected = rows(
            self._db,
            "SELECT flavor, external_id, given FROM injection"
            " WHERE EXISTS (SELECT 1 FROM json_each(given) WHERE instr(value, ?) = 1)"
            " ORDER BY at, id",
            (beginning,),
        )
        return [(flavor, session, tuple(_ids(given))) for flavor, session, given in selected]


def _ids(text: str) -> list[str]:
    return msgspec.json.decode(text, type=list[str])
