"""Deletes items with everything made from them: rows, index entries, texts and their keys.

Rows go in the transaction of the request, together with a list of what lies outside of the
database. That list is processed after the commit, and again later by any instance until it is
empty: a text whose key is gone can never be read again, whatever copies of it there are.
"""

from __future__ import annotations

import re
from typing import Any, LiteralString

import msgspec

from session_memory.core.sharing.wire import FOREVER, Tombstone
from session_memory.hub.database import Connection, Part, Pool, transaction
from session_memory.hub.failures import RequestError
from session_memory.hub.objects import TROUBLE, Texts

_KEY = re.compile(r"[0-9a-f]{32}")
MOST_AT_ONCE = 10_000


class Gone(msgspec.Struct, frozen=True):
    """An item that was deleted."""

    id: int
    key: str
    session: str | None
    object: str | None
    vault_key: str | None


class Erasing(msgspec.Struct, frozen=True):
    """What was deleted in a transaction, and what is to be deleted outside of it."""

    gone: tuple[Gone, ...] = ()
    pending: tuple[int, ...] = ()
    """Rows of `hub.erasure`."""


def erase_items(connection: Connection, where: LiteralString, values: tuple[Any, ...]) -> Erasing:
    """Delete the items `i` that fit a condition, and list their texts and keys."""
    deleted = connection.execute(
        f"DELETE FROM hub.item i WHERE {where} RETURNING i.id, i.key,"
        " (SELECT s.key FROM hub.session s WHERE s.number = i.session), i.object, i.vault_key",
        values,
    ).fetchall()
    if not deleted:
        return Erasing()
    erased = tuple(Gone(*row) for row in deleted)
    numbers = [each.id for each in erased]
    connection.execute("DELETE FROM hub.posting WHERE item_id = ANY(%s)", (numbers,))
    connection.execute("DELETE FROM hub.word_order WHERE item_id = ANY(%s)", (numbers,))
    keys = [each.vault_key for each in erased if each.vault_key is not None]
    objects = sorted({each.object for each in erased if each.object is not None})
    return Erasing(erased, tuple(_list_for_deletion(connection, keys, objects)))


def _list_for_deletion(connection: Connection, keys: list[str], objects: list[str]) -> list[int]:
    """List keys, and objects that hold nothing else, for deletion."""
    listed = connection.execute(
        "INSERT INTO hub.erasure (place, name)"
        " SELECT 'vault', name FROM unnest(%s::text[]) AS name UNION ALL"
        # One object holds texts of one member and project only, so all of them are visible here.
        " SELECT 'object', name FROM unnest(%s::text[]) AS name"
        " WHERE NOT EXISTS (SELECT 1 FROM hub.item i WHERE i.object = name) RETURNING id",
        (keys, objects),
    ).fetchall()
    return [row[0] for row in listed]


def check_tombstones(tombstones: tuple[Tombstone, ...]) -> None:
    """Refuse a request with a tombstone that names nothing."""
    for each in tombstones:
        if not _KEY.fullmatch(each.key) or not 0 <= each.rank <= FOREVER:
            raise RequestError("bad_request", f"no tombstone has the key {each.key[:40]!r}")


def apply_tombstones(part: Part, tombstones: tuple[Tombstone, ...]) -> Erasing:
    """Write tombstones, keep the highest rank of each, and delete what they cover."""
    in_order = sorted({(each.target, each.key, each.rank) for each in tombstones})
    highest = {(target, key): rank for target, key, rank in in_order}  # sorted: the last is highest
    targets = [target for target, _ in highest]
    keys = [key for _, key in highest]
    ranks = list(highest.values())
    part.execute(
        "INSERT INTO hub.tombstone AS t (team_id, project_id, member_id, target, key, rank)"
        " SELECT %s, %s, %s, * FROM unnest(%s::text[], %s::text[], %s::bigint[])"
        " ON CONFLICT (project_id, member_id, target, key) DO UPDATE"
        " SET rank = excluded.rank, changed = excluded.changed WHERE excluded.rank > t.rank",
        (part.team, part.project, part.member, targets, keys, ranks),
    )
    erased = erase_items(
        part.connection,
        "i.id IN (WITH t AS (SELECT * FROM unnest(%s::text[], %s::text[], %s::bigint[])"
        " AS t (target, key, rank))"
        " SELECT o.id FROM t JOIN hub.item o ON t.target = 'item' AND o.key = t.key"
        " AND o.rank <= t.rank AND o.project_id = %s AND o.member_id = %s"
        " UNION SELECT o.id FROM t JOIN hub.session s ON t.target = 'session' AND s.key = t.key"
        " AND s.project_id = %s AND s.member_id = %s"
        " JOIN hub.item o ON o.session = s.number AND o.rank <= t.rank)",
        (targets, keys, ranks, *(part.project, part.member) * 2),
    )
    part.execute(
        "DELETE FROM hub.session s WHERE s.project_id = %s AND s.member_id = %s AND s.key = ANY(%s)"
        " AND NOT EXISTS (SELECT 1 FROM hub.item i WHERE i.session = s.number)",
        (part.project, part.member, keys),
    )
    _remember(part, list(highest), erased.gone)
    return erased


def _remember(part: Part, targets: list[tuple[str, str]], erased: tuple[Gone, ...]) -> None:
    """Keep the numbers of what a tombstone deleted, and the names of its keys, for a proof."""
    by_target: dict[tuple[str, str], list[Gone]] = {}
    for each in erased:
        for target in (("item", each.key), ("session", each.session or "")):
            by_target.setdefault(target, []).append(each)
    with part.connection.cursor() as cursor:
        cursor.executemany(
            "UPDATE hub.tombstone SET items = items || %s::bigint[],"
            " vault_keys = vault_keys || %s::text[]"
            " WHERE project_id = %s AND member_id = %s AND target = %s AND key = %s",
            [
                ([each.id for each in by_target[target]],
                 [each.vault_key for each in by_target[target] if each.vault_key],
                 part.project, part.member, *target)
                for target in targets
                if target in by_target
            ],
        )  # fmt: skip


def finish(pool: Pool, texts: Texts, pending: tuple[int, ...] | None = None) -> bool:
    """Delete what is listed outside of the database; False where something could not be deleted.

    Without `pending`, whatever is due, of any team: an instance that ended in between left it.
    """
    with transaction(pool) as connection:
        rows = connection.execute(
            "SELECT id, place, name FROM hub.erasure WHERE after <= now()"
            " AND (%s::bigint[] IS NULL OR id = ANY(%s)) ORDER BY place DESC, id LIMIT %s",
            (list(pending) if pending is not None else None,
             list(pending) if pending is not None else [], MOST_AT_ONCE),
        ).fetchall()  # fmt: skip
    done: list[int] = []
    for number, place, name in rows:  # keys first: without them nothing can be read
        try:
            (texts.delete_key if place == "vault" else texts.delete_object)(name)
        except TROUBLE:
            continue
        done.append(number)
    with transaction(pool) as connection:
        connection.execute("DELETE FROM hub.erasure WHERE id = ANY(%s)", (done,))
    return len(done) == len(rows)
