"""From a team's hub to Parquet: what its members share of their sessions.

Sessions have the hub's numbers and hashed names, paths are relative to the repository, and a digest
is as its owner's machine sent it, with its cures put back. Texts of events stay in the hub.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import msgspec

from session_memory.core.digest import low_value_reason
from session_memory.core.loop.effects import Effect
from session_memory.core.schema import Cost, Cure, Digest, Session
from session_memory.core.sharing.wire import SessionBody
from session_memory.errors import NotFound
from session_memory.fleet.dataset import Dataset
from session_memory.fleet.export import Written, write_dataset
from session_memory.fleet.records import Exported, ExportedSession, part_name
from session_memory.hub.database import Connection, Pool, limit, transaction
from session_memory.store.values import UsageRow

_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
_LEVELS = 16
_HEADERS = """
SELECT s.number, s.project_id, s.member_id, s.key, p.key, i.body
FROM hub.session s JOIN hub.project p ON p.id = s.project_id
LEFT JOIN hub.item i ON i.session = s.number AND i.kind = 'session'
"""
_ITEMS = """
SELECT session, kind, body FROM hub.item
WHERE session = ANY (%s) AND kind IN ('digest', 'cure', 'usage') ORDER BY session, kind, seq, key
"""


class _Header(msgspec.Struct, frozen=True):
    number: int
    key: str
    project: str
    body: SessionBody
    parent: int | None = None
    owner: int = 0


class _Usage(msgspec.Struct, frozen=True):
    responses: int = 0
    models: tuple[str, ...] = ()
    cost: Cost = Cost()
    unpriced_tokens: int = 0


def export_hub(pool: Pool, team: str, to: Dataset) -> Written:
    """Write everything that the members of a team share."""
    with transaction(pool) as connection:
        _see_all(connection, team)
        usage: list[UsageRow] = []
        effects = list(_effects(connection))
        sessions = _sessions(connection, _headers(connection), usage)
        return write_dataset(to, sessions, Exported(usage=usage, effects=effects))


def _see_all(connection: Connection, team: str) -> None:
    limit(connection, name=team)
    row = connection.execute("SELECT id FROM hub.team WHERE name = %s", (team,)).fetchone()
    if row is None:
        raise NotFound(f"there is no team {team}", hint="`session-memory hub invite` makes a team")
    limit(connection, team=str(row[0]))
    projects = connection.execute("SELECT id FROM hub.project").fetchall()
    limit(connection, team=str(row[0]), projects=",".join(str(project[0]) for project in projects))


def _headers(connection: Connection) -> list[_Header]:
    """Every session with whom it worked for, in the order of an export."""
    by_number: dict[int, _Header] = {}
    numbers: dict[tuple[int, str, str], int] = {}
    parents: dict[int, tuple[int, str, str]] = {}
    for number, project_id, member, key, project, body in connection.execute(_HEADERS).fetchall():
        header = _read(body, SessionBody) or SessionBody("unknown")
        by_number[number] = _Header(number, key, project, header)
        numbers[project_id, member, key] = number
        if header.parent is not None:
            parents[number] = project_id, member, header.parent
    parent_of = {number: numbers[name] for number, name in parents.items() if name in numbers}
    headers = [
        msgspec.structs.replace(
            header, parent=parent_of.get(number), owner=_owner(parent_of, number)
        )
        for number, header in by_number.items()
    ]
    return sorted(headers, key=lambda header: (-header.owner, -header.number))


def _owner(parent_of: dict[int, int], number: int) -> int:
    for _ in range(_LEVELS):  # a client may have sent a circle
        parent = parent_of.get(number)
        if parent is None:
            break
        number = parent
    return number


def _sessions(
    connection: Connection, headers: Iterable[_Header], usage: list[UsageRow]
) -> Iterator[ExportedSession]:
    """Sessions with their digests, a part at a time; adds what each cost to `usage`."""
    for _, members in groupby(headers, lambda header: part_name(header.owner)):
        family = list(members)
        rows = connection.execute(_ITEMS, ([header.number for header in family],)).fetchall()
        items: dict[int, dict[str, list[bytes]]] = {}
        for number, kind, body in rows:
            items.setdefault(number, {}).setdefault(kind, []).append(bytes(body or b""))
        for header in family:
            own = items.get(header.number, {})
            spent = _read(next(iter(own.get("usage", ())), b""), _Usage)
            if spent is not None:
                usage.append(
                    UsageRow(
                        header.key,
                        spent.responses,
                        spent.cost,
                        spent.unpriced_tokens,
                        spent.models,
                        header.number,
                    )
                )
            digest = _digest(own)
            session = _session(header, spent)
            if digest is not None:
                reason = low_value_reason(session, digest)
                session = msgspec.structs.replace(session, low_value=reason)
            yield ExportedSession(session, header.owner, digest, header.project)


def _session(header: _Header, spent: _Usage | None) -> Session:
    body = header.body
    plain: dict[str, Any] = {
        "id": header.number,
        "flavor": body.flavor,
        "external_id": header.key,
        "parent_external_id": body.parent,
        "parent_id": header.parent,
        "project_key": header.project,
        "repo": header.project,
        "branch": body.branch,
        "models": body.models,
        "source_kind": body.source_kind,
        "started_at": body.started_at,
        "ended_at": body.ended_at,
        "title": body.title,
        "event_count": body.event_count,
        "cost": spent.cost if spent is not None else Cost(),
    }
    try:
        return msgspec.convert(plain, Session, from_attributes=True)
    except msgspec.ValidationError:  # of a kind that this version does not know
        return msgspec.convert(
            {**plain, "source_kind": "interactive"}, Session, from_attributes=True
        )


def _digest(items: dict[str, list[bytes]]) -> Digest | None:
    """A digest as it was distilled, but for hashes of its owner's machine; None if unreadable."""
    plain = _read(next(iter(items.get("digest", ())), b""), dict[str, Any])
    if plain is None:
        return None
    cures = [cure for body in items.get("cure", ()) if (cure := _read(body, Cure)) is not None]
    cures.sort(key=lambda cure: (cure.error_seq, cure.steps))
    try:
        bare = msgspec.convert({**plain, "source_fingerprint": "", "cures": []}, Digest)
    except msgspec.ValidationError:
        return None
    return msgspec.structs.replace(bare, cures=tuple(cures))


def _effects(connection: Connection) -> Iterator[Effect]:
    rows = connection.execute("SELECT body FROM hub.item WHERE kind = 'effect' ORDER BY key")
    for (body,) in rows.fetchall():
        effect = _read(bytes(body or b""), Effect)
        if effect is not None:
            yield effect


def _read(body: bytes | None, kind: type[Any]) -> Any:
    """What a client sent; None where it cannot be decoded."""
    try:
        return msgspec.json.decode(body or b"", type=kind)
    except _UNREADABLE:
        return None
