"""Gives laptops what others share and what was deleted, page by page, and never skips anything.

Rows carry the number of the transaction that wrote them. A page shows those below the oldest
transaction that is still open: whatever commits later has a higher number than any cursor.
"""

from __future__ import annotations

from typing import Any

import msgspec

from session_memory.core.sharing.wire import (
    MAX_PAGE,
    Deleted,
    Item,
    Pulled,
    SharedItem,
)
from session_memory.hub.database import Caller, Connection
from session_memory.hub.failures import RequestError

PULLED = ("session", "digest", "observation", "cure", "rule", "memory")
_ITEM = (
    "i.id, i.kind, i.key, i.hash, i.rank, i.body, i.text, s.key, i.seq, i.at, i.likeness, p.key,"
    " i.member_id, m.display_name, (SELECT count(DISTINCT o.member_id) FROM hub.item o"
    " WHERE o.project_id = i.project_id AND o.likeness = i.likeness)"
)
_JOINED = (
    " FROM hub.item i JOIN hub.project p ON p.id = i.project_id JOIN hub.member m"
    " ON m.id = i.member_id LEFT JOIN hub.session s ON s.number = i.session "
)
SHARED_ITEM = f"SELECT {_ITEM} {_JOINED}"
"""Selects what `shared_item` makes a value of."""


class Cursor(msgspec.Struct, frozen=True, order=True):
    """How far a laptop has pulled: everything up to this transaction, list and row."""

    changed: int = 0
    list: int = 0
    """0: tombstones, 1: items, 2: everything of the transaction."""
    row: int = 0


def shared_item(row: tuple[Any, ...]) -> SharedItem:
    """A row of SHARED_ITEM as others see it."""
    _, kind, key, content, rank, body, text, session, seq, at, likeness, *others = row
    project, member, author, people = others
    item = Item(
        kind=kind,
        key=key,
        hash=content,
        rank=rank,
        body=msgspec.Raw(bytes(body) if body is not None else b"null"),
        text=bytes(text).decode(),
        session=session,
        seq=seq,
        at=at,
        likeness=likeness,
    )
    return SharedItem(item, project, member, author, max(1, people))


def pull(connection: Connection, caller: Caller, project: int, after: str, limit: int) -> Pulled:
    """One page behind a cursor."""
    limit = max(1, min(limit, MAX_PAGE))
    epoch = _epoch(connection)
    since = _parsed(after, epoch)
    start = since or Cursor()
    horizon = _horizon(connection)
    rows = connection.execute(
        "SELECT changed, list, id FROM ("
        " (SELECT changed, 0 AS list, id FROM hub.tombstone WHERE project_id = %(project)s"
        "   AND changed >= %(changed)s AND changed < %(horizon)s"
        "   AND (changed, 0, id) > (%(changed)s, %(list)s, %(row)s)"
        "   ORDER BY changed, id LIMIT %(limit)s)"
        " UNION ALL (SELECT changed, 1, id FROM hub.item WHERE project_id = %(project)s"
        "   AND changed >= %(changed)s AND changed < %(horizon)s"
        "   AND (changed, 1, id) > (%(changed)s, %(list)s, %(row)s)"
        "   AND member_id <> %(member)s AND kind = ANY(%(kinds)s)"
        "   ORDER BY changed, id LIMIT %(limit)s)) AS page ORDER BY 1, 2, 3 LIMIT %(limit)s",
        {
            "project": project,
            "changed": start.changed,
            "list": start.list,
            "row": start.row,
            "horizon": horizon,
            "limit": limit + 1,
            "member": caller.member,
            "kinds": list(PULLED),
        },
    ).fetchall()
    page, more = rows[:limit], len(rows) > limit
    end = Cursor(*page[-1]) if more else max(start, _newest(connection, project, horizon))
    return Pulled(
        items=_items(connection, [row[2] for row in page if row[1] == 1]),
        deleted=_deleted(connection, [row[2] for row in page if row[1] == 0]),
        cursor=_named(epoch, end),
        more=more,
        restart=since is None and bool(after),
    )


def _items(connection: Connection, numbers: list[int]) -> tuple[SharedItem, ...]:
    rows = connection.execute(
        SHARED_ITEM + " WHERE i.id = ANY(%s) ORDER BY i.changed, i.id", (numbers,)
    ).fetchall()
    return tuple(map(shared_item, rows))


def _deleted(connection: Connection, numbers: list[int]) -> tuple[Deleted, ...]:
    rows = connection.execute(
        "SELECT target, key, member_id, rank FROM hub.tombstone WHERE id = ANY(%s)"
        " ORDER BY changed, id",
        (numbers,),
    ).fetchall()
    return tuple(Deleted(*row) for row in rows)


def newest_cursor(connection: Connection, project: int) -> str:
    """Where a pull would end now."""
    horizon = _horizon(connection)
    return _named(_epoch(connection), _newest(connection, project, horizon))


def _newest(connection: Connection, project: int, horizon: int) -> Cursor:
    row = connection.execute(
        "SELECT greatest("
        " (SELECT max(changed) FROM hub.item WHERE project_id = %(project)s AND changed < %(top)s),"
        " (SELECT max(changed) FROM hub.tombstone WHERE project_id = %(project)s"
        "  AND changed < %(top)s))",
        {"project": project, "top": horizon},
    ).fetchone()
    return Cursor(row[0], 2, 0) if row and row[0] is not None else Cursor()


def _horizon(connection: Connection) -> int:
    """The oldest transaction that is still open: all below it is settled."""
    row = connection.execute(
        "SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
    ).fetchone()
    assert row is not None
    return row[0]


def _epoch(connection: Connection) -> str:
    row = connection.execute("SELECT epoch FROM hub.state").fetchone()
    assert row is not None
    return row[0]


def _named(epoch: str, cursor: Cursor) -> str:
    return f"{epoch}.{cursor.changed}.{cursor.list}.{cursor.row}"


def _parsed(text: str, epoch: str) -> Cursor | None:
    """The position in a cursor; None for an empty cursor or one of another epoch."""
    if not text:
        return None
    cursor_epoch, *numbers = text.split(".")
    if len(numbers) != 3 or not all(part.isdecimal() and len(part) < 19 for part in numbers):
        raise RequestError("bad_request", "that is no cursor of this hub", "pull without one")
    return Cursor(*map(int, numbers)) if cursor_epoch == epoch else None
