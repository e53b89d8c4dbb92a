"""Makes the hub's schema and role, and updates them: each migration in one transaction."""

from __future__ import annotations

import re
from importlib import resources
from typing import LiteralString, cast

import psycopg
from psycopg import sql

from session_memory.errors import ConfigError, StoreTooNew

_NUMBERED = re.compile(r"(\d{4})_\w+\.sql")
_LOCK = 0x5E55_10B0
"""An advisory lock: two programs that migrate at once wait for each other."""
DEFAULT_ROLE = "session_memory_hub"

Connection = psycopg.Connection[tuple[object, ...]]


def migrations() -> list[tuple[int, str]]:
    """Number and text of every migration, in order."""
    folder = resources.files("session_memory.hub") / "migrations"
    numbered = [
        (int(matched[1]), entry.read_text(encoding="utf-8"))
        for entry in folder.iterdir()
        if (matched := _NUMBERED.fullmatch(entry.name))
    ]
    return sorted(numbered)


def newest() -> int:
    """The version of the schema that this program knows."""
    return migrations()[-1][0]


def version(connection: Connection) -> int:
    """The version of the schema that is there; 0 where there is none."""
    row = connection.execute("SELECT to_regclass('hub.migration')").fetchone()
    if row is None or row[0] is None:
        return 0
    latest = connection.execute("SELECT coalesce(max(number), 0) FROM hub.migration").fetchone()
    assert latest is not None
    return cast("int", latest[0])


def make(url: str, role: str = DEFAULT_ROLE, password: str | None = None) -> list[int]:
    """Make or update everything with the rights of a database owner; return what was applied."""
    with psycopg.connect(url, autocommit=True) as connection:
        _make_role(connection, role, password)
        applied = migrate(connection)
        _force_security(connection)
        _grant(connection, role)
        return applied


def migrate(connection: Connection) -> list[int]:
    """Apply what is missing, each with its record in one transaction."""
    applied: list[int] = []
    connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
    try:
        with connection.transaction():
            connection.execute("CREATE SCHEMA IF NOT EXISTS hub")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS hub.migration ("
                "number integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())"
            )
        present = version(connection)
        if present > newest():
            raise StoreTooNew(
                f"the database has schema {present}, this program knows {newest()}",
                hint="upgrade session-memory on this machine",
            )
        for number, text in migrations():
            if number <= present:
                continue
            with connection.transaction():
                connection.execute(cast("LiteralString", text))  # our own file
                connection.execute("INSERT INTO hub.migration (number) VALUES (%s)", (number,))
            applied.append(number)
    finally:
        connection.execute("SELECT pg_advisory_unlock(%s)", (_LOCK,))
    return applied


def _force_security(connection: Connection) -> None:
    """Every table is limited by row-level security, for its owner too."""
    tables = connection.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'hub'::regnamespace"
        " AND relkind = 'r' AND relname <> 'migration'"
    ).fetchall()
    for (name,) in tables:
        for what in ("ENABLE", "FORCE"):
            connection.execute(
                sql.SQL("ALTER TABLE hub.{} {} ROW LEVEL SECURITY").format(
                    sql.Identifier(str(name)), sql.SQL(cast("LiteralString", what))
                )
            )


def _make_role(connection: Connection, role: str, password: str | None) -> None:
    existing_role = connection.execute(
        "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = %s", (role,)
    ).fetchone()
    if existing_role is not None and existing_role[0]:
        raise ConfigError(
            f"the role {role} is a superuser or bypasses row-level security",
            hint="name another one with --role; the hub must not run with such rights",
        )
    name = sql.Identifier(role)
    if existing_role is None:
        connection.execute(
            sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE").format(
                name
            )
        )
    if password is not None:
        connection.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(name, sql.Literal(password)))


def _grant(connection: Connection, role: str) -> None:
    """Rows may be read and written; tables, policies and the role itself may not be changed."""
    name = sql.Identifier(role)
    for statement in (
        "GRANT USAGE ON SCHEMA hub TO {}",
        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA hub TO {}",
        "REVOKE INSERT, UPDATE, DELETE ON hub.migration FROM {}",
        "REVOKE UPDATE, DELETE ON hub.audit FROM {}",
        "GRANT USAGE ON ALL SEQUENCES IN SCHEMA hub TO {}",
        "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA hub TO {}",
    ):
        connection.execute(sql.SQL(cast("LiteralString", statement)).format(name))
