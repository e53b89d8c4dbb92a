"""Whether a hub may be served: the rights of its role, the security of its tables, its storage."""

from __future__ import annotations

import msgspec
import psycopg

from session_memory.hub import objects, schema
from session_memory.hub.database import Connection
from session_memory.hub.objects import Texts

OLDEST_POSTGRESQL = 140000


class Finding(msgspec.Struct, frozen=True):
    """One thing that was checked."""

    what: str
    ok: bool
    hint: str = ""


def check_database(connection: Connection) -> list[Finding]:
    """The database as its role sees it."""
    findings = [_server(connection), _rights(connection)]
    present = schema.version(connection)
    hint = "run `session-memory hub init` with the owner's database address"
    if present > schema.newest():
        hint = "upgrade session-memory here: a newer one has changed the database"
    is_current = present == schema.newest()
    findings.append(
        Finding(f"schema {present}, this program needs {schema.newest()}", is_current, hint)
    )
    if is_current:
        findings.append(_security(connection))
    return findings


def _server(connection: Connection) -> Finding:
    version = connection.info.server_version
    return Finding(
        f"PostgreSQL {version // 10000}.{version % 10000}",
        version >= OLDEST_POSTGRESQL,
        "PostgreSQL 14 or newer is needed",
    )


def _rights(connection: Connection) -> Finding:
    row = connection.execute(
        "SELECT current_user, bool_or(r.rolsuper), bool_or(r.rolbypassrls),"
        " bool_or(c.relowner = r.oid) FROM pg_roles r"
        " LEFT JOIN pg_class c ON c.oid = to_regclass('hub.item')"
        " WHERE pg_has_role(current_user, r.oid, 'MEMBER')"
    ).fetchone()
    assert row is not None
    name, is_super, bypasses, owns = row
    wrong = [
        text
        for text, holds in (
            ("is a superuser", is_super),
            ("bypasses row-level security", bypasses),
            ("owns the tables", owns),
        )
        if holds
    ]
    what = f"role {name} {', '.join(wrong)}" if wrong else f"role {name} has no rights too many"
    return Finding(what, not wrong, "serve as the role that `session-memory hub init` made")


def _security(connection: Connection) -> Finding:
    rows = connection.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'hub'::regnamespace AND relkind = 'r'"
        " AND relname <> 'migration' AND NOT (relrowsecurity AND relforcerowsecurity)"
    ).fetchall()
    open_tables = ", ".join(sorted(str(row[0]) for row in rows))
    what = f"tables without row-level security: {open_tables}" if rows else "row-level security"
    return Finding(what, not rows, "run `session-memory hub init` again")


def check_storage(texts: Texts) -> Finding:
    """Whether objects and keys can be written, read and deleted."""
    try:
        texts.check()
    except (*objects.TROUBLE, AssertionError) as error:
        reason = str(error).partition("\n")[0][:300]
        hint = "check --objects, --vault and the account"
        return Finding(f"object storage or vault: {reason}", ok=False, hint=hint)
    return Finding("object storage and vault", ok=True)


def check(url: str, texts: Texts) -> list[Finding]:
    """Everything."""
    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            findings = check_database(connection)
    except psycopg.OperationalError as error:
        reason = str(error).strip().splitlines()[-1]
        findings = [Finding(f"database: {reason}"[:300], ok=False, hint="check --database")]
    return [*findings, check_storage(texts)]
