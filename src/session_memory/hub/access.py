"""Who makes a request: joining with an invite, and what the token of a device may see."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from session_memory.core.sharing.wire import Join, Joined, NewToken, Sharing, WhoAmI
from session_memory.hub.database import Caller, Connection, limit, limit_to
from session_memory.hub.failures import RequestError, no_such_project
from session_memory.hub.tokens import Token, new_id, new_token, parse

MAX_NAME = 100
MAX_PROJECT_KEY = 300


def authenticate(connection: Connection, header: str | None, now: datetime) -> Caller:
    """The caller behind an `Authorization` header, to whom the transaction is limited from now."""
    token = _token(header, "device")
    limit(connection, name=token.id)
    row = connection.execute(
        "SELECT d.team_id, d.member_id, d.token_hash, d.projects, d.expires_at, d.revoked_at,"
        " d.seen_on FROM hub.device d WHERE d.id = %s",
        (token.id,),
    ).fetchone()
    if row is None or not token.matches(row[2]):
        raise RequestError("token_unknown", "the token is not known here", "join again")
    team_id, member, _, allowed, expires_at, revoked_at, seen_on = row
    if revoked_at is not None:
        raise RequestError("token_revoked", "the token of this device was revoked", "join again")
    if expires_at is not None and expires_at <= now:
        raise RequestError("token_expired", "the token of this device has expired", "join again")
    limit(connection, team=str(team_id))
    if seen_on != now.date():
        connection.execute(
            "UPDATE hub.device SET seen_on = %s WHERE id = %s", (now.date(), token.id)
        )
    rows = connection.execute("SELECT key, id FROM hub.project").fetchall()
    team = connection.execute("SELECT name FROM hub.team").fetchone()
    assert team is not None
    projects = {key: number for key, number in rows if "*" in allowed or key in allowed}
    caller = Caller(team_id, team[0], token.id, member, projects, tuple(allowed))
    limit_to(connection, caller)
    return caller


def _token(header: str | None, kind: str) -> Token:
    scheme, _, text = (header or "").partition(" ")
    if scheme.lower() != "bearer" or not text:
        raise RequestError("token_missing", "a token is needed", "run `session-memory team join`")
    token = parse(text.strip())
    if token is None or token.kind != kind:
        raise RequestError("token_unknown", "the token is not known here", "join again")
    return token


def join(connection: Connection, header: str | None, request: Join, now: datetime) -> Joined:
    """Make a device out of an invite, which counts once."""
    token = _token(header, "invite")
    limit(connection, name=token.id)
    row = connection.execute(
        "SELECT team_id, member_id, token_hash, projects, device_days, expires_at, used_at,"
        " revoked_at FROM hub.invite WHERE id = %s FOR UPDATE",
        (token.id,),
    ).fetchone()
    if row is None or not token.matches(row[2]):
        raise RequestError("token_unknown", "the invite is not known here", "ask for a new one")
    team_id, member, _, allowed, days, expires_at, used_at, revoked_at = row
    if used_at is not None:
        raise RequestError("invite_used", "this invite was used already", "ask for a new one")
    if revoked_at is not None:
        raise RequestError("token_revoked", "this invite was revoked", "ask for a new one")
    if expires_at <= now:
        raise RequestError("token_expired", "this invite has expired", "ask for a new one")
    limit(connection, team=str(team_id))
    name = _shown(request.display_name)
    if member is None:
        member = new_id()
        connection.execute(
            "INSERT INTO hub.member (id, team_id, display_name) VALUES (%s, %s, %s)",
            (member, team_id, name),
        )
    else:
        connection.execute("UPDATE hub.member SET display_name = %s WHERE id = %s", (name, member))
    device = new_token("device")
    ends = now + timedelta(days=days) if days else None
    connection.execute(
        "INSERT INTO hub.device (id, team_id, member_id, name, token_hash, projects, expires_at)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s)",
        (device.id, team_id, member, request.device_name[:MAX_NAME], device.hash, allowed, ends),
    )
    connection.execute("UPDATE hub.invite SET used_at = %s WHERE id = %s", (now, token.id))
    team = connection.execute("SELECT name, key FROM hub.team").fetchone()
    assert team is not None
    return Joined(
        token=str(device),
        device=device.id,
        member=member,
        team=team[0],
        team_key=team[1].hex(),
        projects=tuple(allowed),
        expires_at=_seconds(ends),
    )


def _shown(name: str) -> str:
    plain = " ".join(name.split())[:MAX_NAME]
    if not plain or not plain.isprintable():
        raise RequestError(
            "bad_request", "a display name has 1 to 100 visible characters", "a pseudonym will do"
        )
    return plain


def rotate(connection: Connection, caller: Caller, now: datetime) -> NewToken:
    """A new token for the caller's device; the old one ends with this transaction."""
    row = connection.execute(
        "SELECT expires_at, made_at FROM hub.device WHERE id = %s FOR UPDATE", (caller.device,)
    ).fetchone()
    assert row is not None
    ends = now + (row[0] - row[1]) if row[0] is not None else None
    token = new_token("device", caller.device)
    connection.execute(
        "UPDATE hub.device SET token_hash = %s, expires_at = %s, made_at = %s WHERE id = %s",
        (token.hash, ends, now, caller.device),
    )
    return NewToken(str(token), _seconds(ends))


def leave(connection: Connection, caller: Caller, now: datetime) -> None:
    """Revoke the caller's own token."""
    connection.execute("UPDATE hub.device SET revoked_at = %s WHERE id = %s", (now, caller.device))


def who_am_i(connection: Connection, caller: Caller, hub_version: str) -> WhoAmI:
    """The caller as the hub knows it."""
    row = connection.execute(
        "SELECT m.display_name, d.expires_at FROM hub.device d JOIN hub.member m"
        " ON m.id = d.member_id WHERE d.id = %s",
        (caller.device,),
    ).fetchone()
    assert row is not None
    shared = connection.execute(
        "SELECT p.key, s.level, s.generation FROM hub.sharing s JOIN hub.project p"
        " ON p.id = s.project_id WHERE s.member_id = %s ORDER BY p.key",
        (caller.member,),
    ).fetchall()
    return WhoAmI(
        device=caller.device,
        member=caller.member,
        display_name=row[0],
        team=caller.team,
        projects=caller.allowed,
        sharing=tuple(Sharing(*each) for each in shared),
        expires_at=_seconds(row[1]),
        hub_version=hub_version,
    )


def project_of(caller: Caller, key: str) -> int:
    """The number of a project the caller may see; the same refusal for any other."""
    number = caller.projects.get(key)
    if number is None:
        raise no_such_project()
    return number


def project_or_new(connection: Connection, caller: Caller, key: str) -> int:
    """The same, but a token for every project of its team may begin a new one."""
    if key in caller.projects:
        return caller.projects[key]
    if "*" not in caller.allowed:
        raise no_such_project()
    if not key or len(key) > MAX_PROJECT_KEY or not key.isprintable() or key == "*":
        raise RequestError("bad_request", "a project's key has 1 to 300 visible characters")
    connection.execute(
        "INSERT INTO hub.project (team_id, key) VALUES (%s, %s) ON CONFLICT DO NOTHING",
        (caller.team_id, key),
    )
    row = connection.execute("SELECT id FROM hub.project WHERE key = %s", (key,)).fetchone()
    assert row is not None
    return row[0]


def _seconds(at: datetime | None) -> int | None:
    return int(at.astimezone(UTC).timestamp()) if at is not None else None
