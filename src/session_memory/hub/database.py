"""Connections to PostgreSQL, and transactions that see one team and its projects only."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

import msgspec
import psycopg
from psycopg_pool import ConnectionPool

Connection = psycopg.Connection[tuple[Any, ...]]
Pool = ConnectionPool[Connection]

POOL_SIZE = 16
WAIT_SECONDS = 20.0
SETTINGS = {
    "statement_timeout": "30000",
    "search_path": "pg_catalog",
    "jit": "off",  # compiling a query takes longer than running any of ours
    "random_page_cost": "1.1",  # indexes lie in memory or on a fast disk
}
TROUBLE = (psycopg.OperationalError, psycopg.InternalError)
"""Errors of a database that is unreachable, starting, full or damaged."""


class Caller(msgspec.Struct, frozen=True):
    """The device behind a request, and what its token may see."""

    team_id: int
    team: str
    device: str
    member: str
    projects: dict[str, int]
    """Key to number of every project it may see."""
    allowed: tuple[str, ...] = ()
    """The keys of its token; `*` means every project of the team, also new ones."""


def open_pool(url: str, size: int = POOL_SIZE) -> Pool:
    """A pool that opens connections on demand."""
    return ConnectionPool(
        url,
        min_size=1,
        max_size=size,
        timeout=WAIT_SECONDS,
        open=True,
        check=ConnectionPool.check_connection,
        kwargs={"options": " ".join(f"-c {name}={value}" for name, value in SETTINGS.items())},
    )


def numbers_array(values: Iterable[int | None]) -> str:
    """An array of numbers as PostgreSQL reads it; psycopg takes ten times as long to write one."""
    return f"{{{','.join('NULL' if value is None else str(value) for value in values)}}}"


def texts_array(values: Iterable[str]) -> str:
    """An array of texts, likewise."""
    escaped = (value.replace("\\", "\\\\").replace('"', '\\"') for value in values)
    quoted = (f'"{value}"' for value in escaped)
    return f"{{{','.join(quoted)}}}"


@contextmanager
def transaction(pool: Pool, **settings: str) -> Generator[Connection]:
    """A transaction with these settings `app.*`; they end with it, so the next one sees nothing."""
    with pool.connection() as connection:
        limit(connection, team=settings.get("team", ""), member=settings.get("member", ""),
              projects=settings.get("projects", ""), name=settings.get("name", ""))  # fmt: skip
        yield connection


def limit(
    connection: Connection, *, team: str = "", member: str = "", projects: str = "", name: str = ""
) -> None:
    """Set what the rest of the transaction may see."""
    connection.execute(
        "SELECT set_config('app.team', %s, true), set_config('app.member', %s, true),"
        " set_config('app.projects', %s, true), set_config('app.name', %s, true)",
        (team, member, projects, name),
    )


def limit_to(connection: Connection, caller: Caller) -> None:
    """Let the rest of the transaction see what the caller may."""
    numbers = caller.projects.values()
    limit(
        connection,
        team=str(caller.team_id),
        member=caller.member,
        projects=",".join(map(str, sorted(numbers))),
    )


@contextmanager
def as_caller(pool: Pool, caller: Caller) -> Generator[Connection]:
    """A transaction that sees what the caller may."""
    with pool.connection() as connection:
        limit_to(connection, caller)
        yield connection


class Part:
    """What one member has in one project, within one transaction."""

    def __init__(self, connection: Connection, caller: Caller, project: int) -> None:
        self.connection = connection
        self.execute = connection.execute
        self.caller = caller
        self.team = caller.team_id
        self.member = caller.member
        self.project = project

    def lock(self) -> None:
        """Until the end of the transaction no other connection changes this part.

        It is the only lock that a push or a forget waits for, so none can wait in a circle.
        """
        self.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))",
            (f"{self.project} {self.member}",),
        )


@contextmanager
def as_member(pool: Pool, caller: Caller, project: int) -> Generator[Part]:
    """A transaction about the caller's own part of a project."""
    with as_caller(pool, caller) as connection:
        yield Part(connection, caller, project)
