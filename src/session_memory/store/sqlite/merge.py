"""Pouring the rows of one database into another, which may number them differently.

Sessions are identified by flavour and native id, sources by path, projects by key, segments by
name and events by fingerprint: what the target has already is not added again. In an empty target
every row keeps its number. The full-text index is no part of this: it is made again from the texts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import apsw
import msgspec

from session_memory.store.sqlite import salvage
from session_memory.store.sqlite.connection import Database, Row, value
from session_memory.store.sqlite.ids import SEQ_BITS, split

Names = Mapping[int, tuple[str, str]]
"""Session number to flavour and native id, as segments name them."""


class Spec(msgspec.Struct, frozen=True):
    """What the columns of a table refer to."""

    refs: dict[str, str] = {}
    """Column to the table whose number it holds."""
    natural: tuple[str, ...] = ()
    """Columns that identify a row in any store; its `id` gets a number of the target."""
    renumbered: bool = False
    """Rows have a number of their own that nothing refers to."""
    newest: bool = False
    """Where both have a row, the one that is poured later counts."""


_OF_SESSION = Spec({"session_id": "session"})
SPECS: dict[str, Spec] = {
    "project": Spec(natural=("key",)),
    "project_alias": Spec({"project_id": "project"}),
    "source": Spec(natural=("path",)),
    "project_merge": Spec({"project_id": "project", "target_id": "project"}),
    "session": Spec(
        {"project_id": "project", "found_project_id": "project"},
        natural=("flavor", "external_id"),
    ),
    "session_source": Spec({"session_id": "session", "source_id": "source"}),
    "fact": Spec({"session_id": "session", "source_id": "source"}, newest=True),
    "segment": Spec({"session_id": "session"}, natural=("name",)),
    "doomed_segment": Spec(),
    "event": Spec({"source_id": "source", "segment_id": "segment"}),
    "event_copy": Spec({"event_id": "event", "source_id": "source"}),
    "evicted_event": _OF_SESSION,
    "usage": _OF_SESSION,
    "digest": _OF_SESSION,
    "evicted_digest": _OF_SESSION,
    "eviction": Spec({"session_id": "session"}, renumbered=True),
    "tombstone": Spec(),
    "forgotten_session": Spec(),
    "forgotten_source": Spec(newest=True),
    "observation": Spec({"session_id": "session", "event_id": "event"}, renumbered=True),
    "job": Spec({"session_id": "session"}, renumbered=True),
    "turn": Spec(),
    "session_note": Spec(newest=True),
    "injection": Spec(),
    "mined": _OF_SESSION,
    "pattern": Spec(),
    "quarantine": Spec({"source_id": "source"}),
    "effect": Spec(newest=True),
    "spend": Spec(renumbered=True),
    "trace": _OF_SESSION,
    "closure_check": Spec({"project_id": "project", "session_id": "session"}, renumbered=True),
    "context_sync": Spec({"project_id": "project"}, renumbered=True),
}
LEFT_OUT = frozenset(
    {"meta", "schema_migration", "memory_consolidation_locks", "checkpoint", "usage_sum"}
)
"""Of the database itself, of work that is not under way any more, or made again when missing."""
ONLY_HERE = {
    "evicted_event": "what is known of evicted events",
    "evicted_digest": "digests of evicted sessions",
    "eviction": "the list of evictions",
    "observation": "notes, and observations of evicted sessions",
    "job": "background work",
    "turn": "turns that hooks recorded",
    "session_note": "notes of hooks",
    "injection": "what sessions were given",
    "pattern": "patterns and decisions about them",
    "effect": "measured effects",
    "spend": "the ledger of model calls",
    "trace": "memories of sessions",
    "closure_check": "completion checks",
    "context_sync": "when packs were written out",
}
"""Tables whose rows are in no log and no segment, in words for a user."""


class Poured(msgspec.Struct):
    """What was read of one database."""

    rows: Counter[str] = msgspec.field(default_factory=lambda: Counter[str]())
    unreadable: list[str] = []
    """Tables of which some rows, or all, could not be read."""


def pour(old: Database, new: Database, names: Names) -> Poured:
    """Add every readable row of `old` to `new`; foreign keys of `new` must be off."""
    return _Pouring(old, new, names).run()


class _Pouring:
    def __init__(self, old: Database, new: Database, names: Names) -> None:
        self._old, self._new, self._names = old, new, names
        self._tables = salvage.tables_of(new)
        self._maps: dict[str, dict[int, int]] = {}
        self._next_seq: dict[int, int] = {}
        self._done = Poured()

    def run(self) -> Poured:
        for name in SPECS:
            table = self._tables.get(name)
            if table is None:
                continue
            try:
                columns = salvage.columns_in(self._old, table)
            except apsw.Error:
                columns = ()
                self._done.unreadable.append(name)
            if columns:
                self._table(table, columns)
        return self._done

    def _table(self, table: salvage.Table, columns: tuple[str, ...]) -> None:
        spec = SPECS[table.name]
        seen: set[int] = set()
        broken = [0]
        put = self._putter(table.name, spec, columns)

        def take(row: Row) -> None:
            if spec.renumbered:
                if row[0] in seen:  # a row can be given twice, and would get two numbers
                    return
                seen.add(row[0])
            try:
                put(dict(zip(columns, row, strict=True)))
            except (apsw.ConstraintError, apsw.MismatchError, TypeError, OverflowError):
                broken[0] += 1  # what a bad page made of a row

        whole = salvage.read_table(self._old, table, columns, take)
        if not whole or broken[0]:
            self._done.unreadable.append(table.name)

    def _putter(
        self, table: str, spec: Spec, columns: tuple[str, ...]
    ) -> Callable[[dict[str, Any]], None]:
        inserted = [c for c in columns if not (spec.renumbered and c == "id")]
        clash = "REPLACE" if spec.newest else "IGNORE"
        insert = (
            f"INSERT OR {clash} INTO {table} ({', '.join(inserted)})"
            f" VALUES ({', '.join('?' * len(inserted))})"
        )

        def put(row: dict[str, Any]) -> None:
            if table == "event":
                self._event(row, insert, inserted)
                return
            for column, kind in spec.refs.items():
                row[column] = self._number(kind, row[column])
            if spec.natural:
                self._natural(table, spec, row)
                return
            self._count(table, insert, [row[column] for column in inserted])

        return put

    def _count(self, table: str, insert: str, values: list[Any]) -> bool:
        self._new.execute(insert, values)
        added = self._new.changes() > 0
        self._done.rows[table] += added
        return added

    def _natural(self, table: str, spec: Spec, row: dict[str, Any]) -> None:
        """Find the row of that name in the target, or add it, with its number where it is free."""
        number = row["id"]
        where = " AND ".join(f"{column} = ?" for column in spec.natural)
        natural_key = [row[column] for column in spec.natural]
        new_id = value(self._new, f"SELECT id FROM {table} WHERE {where}", natural_key)
        if new_id is None:
            if value(self._new, f"SELECT 1 FROM {table} WHERE id = ?", (number,)):
                row["id"] = None
            columns = list(row)
            self._count(
                table,
                f"INSERT INTO {table} ({', '.join(columns)})"
                f" VALUES ({', '.join('?' * len(columns))})",
                [row[column] for column in columns],
            )
            new_id = self._new.last_insert_rowid()
        self._maps.setdefault(table, {})[number] = new_id

    def _number(self, kind: str, number: int | None) -> int | None:
        """The target's number of something the old database refers to."""
        if number is None:
            return None
        if kind == "event":
            return self._event_number(number)
        new_id = self._maps.setdefault(kind, {}).get(number)
        if new_id is None:
            new_id = self._maps[kind][number] = self._stand_in(kind, number)
        return new_id

    def _event_number(self, number: int) -> int:
        new_id = self._maps.setdefault("event", {}).get(number)
        if new_id is None:  # nearly all keep their place in the session
            session_id, seq = split(number)
            session = self._number("session", session_id)
            new_id = ((session or 0) << SEQ_BITS) | seq
        return new_id

    def _stand_in(self, kind: str, number: int) -> int:
        """A row in the place of one that cannot be read; see rebuild.drop_stand_ins."""
        if number <= 0 or kind == "segment":  # files are matched with events later
            return -abs(number)
        if kind == "session":
            flavor, name = self._names.get(number, ("", f"recovered-{number}"))
            row = {"id": number, "flavor": flavor, "external_id": name, "captured_at": 0}
        elif kind == "source":
            empty = ("device", "inode", "mtime_ns", "ctime_ns", "read_to", "parser_version")
            row = {"id": number, "flavor": "", "path": f"recovered-{number}", "size": -1}
            row |= dict.fromkeys(empty, 0) | {"head_hash": b"", "tail_hash": b"", "state": "{}"}
        else:
            row = {"id": number, "key": f"recovered-{number}", "source": "", "confidence": "low"}
        self._natural(kind, SPECS[kind], row)
        self._done.rows[kind] -= 1  # it was not read
        return self._maps[kind][number]

    def _event(self, row: dict[str, Any], insert: str, columns: list[str]) -> None:
        """An event the session holds already stands for this one; else it is added."""
        number = row["id"]
        session_id, seq = split(number)
        session = self._number("session", session_id)
        if session is None or session <= 0:
            return
        held = value(
            self._new,
            "SELECT id FROM event WHERE fingerprint = ? AND id >> 24 = ?",
            (row["fingerprint"], session),
        )
        segment = self._number("segment", row["segment_id"])
        usual = (session << SEQ_BITS) | seq
        if held is None:
            row["source_id"] = self._number("source", row["source_id"])
            row["segment_id"] = segment
            held = usual
            if value(self._new, "SELECT 1 FROM event WHERE id = ?", (held,)):
                held = self._free(session)
            row["id"] = held
            self._count("event", insert, [row[column] for column in columns])
        elif segment is not None and segment > 0:  # what was captured later was written whole
            self._new.execute(
                "UPDATE event SET segment_id = ?, body_at = ?, body_len = ? WHERE id = ?",
                (segment, row["body_at"], row["body_len"], held),
            )
        if held != usual:
            self._maps.setdefault("event", {})[number] = held

    def _free(self, session: int) -> int:
        upper = (session + 1) << SEQ_BITS
        event_id = self._next_seq.get(session)
        if event_id is None:
            last = value(self._new, "SELECT max(id) FROM event WHERE id < ?", (upper,))
            stated = value(self._new, "SELECT next_seq FROM session WHERE id = ?", (session,))
            event_id = max(int(last) + 1, (session << SEQ_BITS) | int(stated or 0))
        self._next_seq[session] = event_id + 1
        return event_id
