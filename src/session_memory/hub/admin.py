"""Administration of a hub: teams, invites, devices, revoking, the audit."""

from __future__ import annotations

import secrets
from datetime import datetime, timedelta

import msgspec
import psycopg

from session_memory.errors import NotFound, UsageError
from session_memory.hub.database import Connection, Pool, limit, transaction
from session_memory.hub.journal import Entry, journalled
from session_memory.hub.objects import Texts
from session_memory.hub.tokens import new_token

INVITE_DAYS = 7
PRUNED_AT_ONCE = 10_000


class Invited(msgspec.Struct, frozen=True):
    """An invite; its token is shown once."""

    id: str
    token: str
    team: str
    projects: tuple[str, ...]
    expires_at: datetime


class Device(msgspec.Struct, frozen=True):
    """A device, or an unused invite."""

    id: str
    kind: str
    member: str | None
    display_name: str | None
    name: str
    projects: tuple[str, ...]
    state: str
    """`active`, `revoked`, `expired`, or of an invite `open`."""
    made_at: datetime
    expires_at: datetime | None
    seen_on: str | None


class AuditLine(msgspec.Struct, frozen=True):
    """One request in the audit."""

    at: datetime
    device: str | None
    action: str
    project: str | None
    status: int
    items: int
    bytes: int


def _team(connection: Connection, name: str, *, create: bool = False) -> int:
    """The number of a team, to which the transaction is limited from now."""
    limit(connection, name=name)
    if create:
        connection.execute(
            "INSERT INTO hub.team (name, key) VALUES (%s, %s) ON CONFLICT DO NOTHING",
            (name, secrets.token_bytes(32)),
        )
    row = connection.execute("SELECT id FROM hub.team WHERE name = %s", (name,)).fetchone()
    if row is None:
        raise NotFound(
            f"there is no team {name}", hint="the first `session-memory hub invite` makes a team"
        )
    limit(connection, team=str(row[0]))
    return row[0]


class Invitation(msgspec.Struct, frozen=True):
    """What an invite allows."""

    team: str
    projects: tuple[str, ...]
    member: str | None = None
    days: int = INVITE_DAYS
    device_days: int | None = None


def invite(pool: Pool, invitation: Invitation, now: datetime) -> Invited:
    """Make an invite; the team is made with its first one."""
    if not invitation.team.strip() or not invitation.team.isprintable():
        raise UsageError("a team needs a name")
    token = new_token("invite")
    ends = now + timedelta(days=invitation.days)
    with transaction(pool) as connection:
        team = _team(connection, invitation.team, create=True)
        for project in invitation.projects:
            if project != "*":
                connection.execute(
                    "INSERT INTO hub.project (team_id, key) VALUES (%s, %s) ON CONFLICT DO NOTHING",
                    (team, project),
                )
        if invitation.member is not None:
            member = connection.execute(
                "SELECT 1 FROM hub.member WHERE id = %s", (invitation.member,)
            ).fetchone()
            if member is None:
                raise NotFound(
                    f"there is no member {invitation.member} in {invitation.team}",
                    hint="`session-memory hub devices` lists them",
                )
        connection.execute(
            "INSERT INTO hub.invite (id, team_id, member_id, token_hash, projects, device_days,"
            " expires_at) VALUES (%s, %s, %s, %s, %s, %s, %s)",
            (token.id, team, invitation.member, token.hash, list(invitation.projects),
             invitation.device_days, ends),
        )  # fmt: skip
    return Invited(token.id, str(token), invitation.team, invitation.projects, ends)


def devices(pool: Pool, team: str, now: datetime) -> list[Device]:
    """Devices of a team, and invites that are still open, newest first."""
    with transaction(pool) as connection:
        _team(connection, team)
        rows = connection.execute(
            "SELECT d.id, 'device', d.member_id, m.display_name, d.name, d.projects, CASE"
            "  WHEN d.revoked_at IS NOT NULL THEN 'revoked'"
            "  WHEN d.expires_at <= %(now)s THEN 'expired' ELSE 'active' END,"
            " d.made_at, d.expires_at, d.seen_on::text"
            " FROM hub.device d JOIN hub.member m ON m.id = d.member_id"
            " UNION ALL SELECT i.id, 'invite', i.member_id, NULL, '', i.projects, CASE"
            "  WHEN i.revoked_at IS NOT NULL THEN 'revoked'"
            "  WHEN i.expires_at <= %(now)s THEN 'expired' ELSE 'open' END,"
            " i.made_at, i.expires_at, NULL FROM hub.invite i WHERE i.used_at IS NULL"
            " ORDER BY 8 DESC, 1",
            {"now": now},
        ).fetchall()
    names = Device.__struct_fields__
    return [msgspec.convert(dict(zip(names, row, strict=True)), Device) for row in rows]


def revoke(pool: Pool, texts: Texts, team: str, id: str) -> str:
    """End the token of a device or invite; returns which of both it was."""
    with transaction(pool) as connection:
        number = _team(connection, team)
        revoked = None
        for kind in ("device", "invite"):
            row = connection.execute(
                f"UPDATE hub.{kind} SET revoked_at = coalesce(revoked_at, now())"
                " WHERE id = %s RETURNING id",
                (id,),
            ).fetchone()
            revoked = kind if row is not None else revoked
        if revoked is None:
            raise NotFound(
                f"there is no device or invite {id} in {team}",
                hint="`session-memory hub devices` lists them",
            )
        journalled(connection, texts, Entry(number, revoked=id))
    return revoked


def audit(pool: Pool, team: str, limit: int) -> list[AuditLine]:
    """The newest accesses of a team, oldest first."""
    with transaction(pool) as connection:
        _team(connection, team)
        rows = connection.execute(
            "SELECT at, device_id, action, project, status, items, bytes FROM hub.audit"
            " ORDER BY id DESC LIMIT %s",
            (limit,),
        ).fetchall()
    return [AuditLine(*row) for row in reversed(rows)]


def prune_audit(url: str, before: datetime, *, dry_run: bool = False) -> int:
    """Delete requests of every team that are older, as the database's owner; returns how many."""
    with psycopg.connect(url, autocommit=True) as connection:
        if dry_run:
            row = connection.execute(
                "SELECT count(*) FROM hub.audit WHERE at < %s", (before,)
            ).fetchone()
            return row[0] if row else 0
        total = 0
        while True:  # in steps: one long transaction would block others
            deleted = connection.execute(
                "DELETE FROM hub.audit WHERE id IN"
                " (SELECT id FROM hub.audit WHERE at < %s ORDER BY at LIMIT %s)",
                (before, PRUNED_AT_ONCE),
            ).rowcount
            total += deleted
            if deleted < PRUNED_AT_ONCE:
                return total
