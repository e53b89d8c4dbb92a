"""Narrow questions of pages and lists, each answered from an index or a few columns."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date

import msgspec

from session_memory.store.sqlite.connection import Database, rows, value
from session_memory.store.sqlite.ids import event_range
from session_memory.store.values import EventPlace, ResponseCost, SessionFigures


def outcomes(db: Database, among: Collection[int] | None) -> dict[int, str]:
    """Session to outcome."""
    sql = "SELECT session_id, outcome FROM digest"
    if among is None:
        return dict(rows(db, sql))
    wanted = msgspec.json.encode(sorted(among)).decode()
    return dict(rows(db, f"{sql} WHERE session_id IN (SELECT value FROM json_each(?))", (wanted,)))


def sessions_by_day(db: Database, since: int) -> dict[date, int]:
    """Day to how many sessions began then; who began since then also ended since then."""
    counted = rows(
        db,
        "SELECT started_at / 86400000, count(*) FROM session"
        " WHERE ended_at >= ?1 AND started_at >= ?1 AND parent_external_id IS NULL"
        " AND (event_count > 0 OR raw_events > 0 OR state = 'raw_evicted') GROUP BY 1 ORDER BY 1",
        (since,),
    )
    return {date.fromordinal(_EPOCH + day): count for day, count in counted}


def event_places(db: Database, session_id: int) -> list[EventPlace]:
    """Live events in source order: by file, then by place in the file."""
    places = rows(
        db,
        "SELECT e.id, e.kind, e.at, e.tool_class, e.call_id, e.is_error, e.source_id, e.pos"
        " FROM event e WHERE e.id BETWEEN ? AND ? AND e.superseded = 0",
        event_range(session_id),
    )
    paths = dict(
        rows(
            db,
            "SELECT id, path FROM source WHERE id IN (SELECT value FROM json_each(?))",
            (msgspec.json.encode(sorted({row[6] for row in places})).decode(),),
        )
    )
    places.sort(key=lambda row: (paths[row[6]], row[7], row[0]))
    return [EventPlace(row[0], row[1], row[2], row[3], row[4], bool(row[5])) for row in places]


def session_figures(db: Database, since: int) -> list[SessionFigures]:
    """Read from the index digest_figures: the expressions must be its own.

    A store that is only read may be older than the index.
    """
    has_index = value(db, "SELECT 1 FROM sqlite_schema WHERE name = 'digest_figures'")
    index = "INDEXED BY digest_figures" if has_index else ""
    return [
        SessionFigures(*row)
        for row in rows(
            db,
            "SELECT d.outcome, json_extract(d.body, '$.first_at'),"
            " json_extract(d.body, '$.calls_before_edit'), json_array_length(d.body, '$.errors'),"
            " json_extract(d.body, '$.cost.usd')"
            f" FROM session s CROSS JOIN digest d {index}"
            " ON d.session_id = s.id WHERE s.ended_at >= ? AND s.parent_external_id IS NULL",
            (since,),
        )
    ]


def response_costs(db: Database, session_id: int) -> list[ResponseCost]:
    """Counted responses by time."""
    return [
        ResponseCost(*row)
        for row in rows(
            db,
            "SELECT at, input + output + cache_read + cache_write_5m + cache_write_1h, usd"
            " FROM usage WHERE session_id = ? AND counted = 1 AND at IS NOT NULL ORDER BY at",
            (session_id,),
        )
    ]


_EPOCH = date(1970, 1, 1).toordinal()
