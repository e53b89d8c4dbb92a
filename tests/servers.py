"""Fixtures that start PostgreSQL and an S3 server, once for each worker of a test run.

A test file gets them with `from tests.servers import *` in the conftest of its folder. Where the
servers cannot be had, tests skip and say so; in CI (CI=true) they fail instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TypeVar

import pytest

from session_memory.testing.postgres_server import PostgresServer
from session_memory.testing.s3_server import S3Server

__all__ = ["database", "postgres", "s3", "template"]

Server = TypeVar("Server", PostgresServer, S3Server)
_NUMBERS = count(1)


def _started(start: Callable[[], Server]) -> Server:
    try:
        return start()
    except FileNotFoundError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A running PostgreSQL."""
    server = _started(PostgresServer)
    yield server
    server.close()


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    """A running S3 server."""
    server = _started(S3Server)
    yield server
    server.close()


@pytest.fixture(scope="session")
def template(postgres: PostgresServer) -> str:
    """The name of a database with the hub's schema, to copy."""
    import psycopg

    from session_memory.hub import schema

    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute("CREATE DATABASE hub_template")
    schema.make(postgres.url("hub_template"))
    return "hub_template"


@pytest.fixture
def database(postgres: PostgresServer, template: str) -> Iterator[str]:
    """The address of an empty hub database of the test's own, for the role that serves."""
    import psycopg
    from psycopg import sql

    from session_memory.hub import schema

    name = f"hub_{next(_NUMBERS)}"

    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        made = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        copied = made.format(sql.Identifier(name), sql.Identifier(template))
        if connection.info.server_version >= 150_000:  # older ones know this way alone
            copied += sql.SQL(" STRATEGY file_copy")
        connection.execute(copied)
    yield postgres.url(name, schema.DEFAULT_ROLE)
    dropped = sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute(dropped)


def storage(directory: Path) -> tuple[str, str]:
    """Addresses of objects and vault in a directory."""
    return str(directory / "objects"), str(directory / "vault")
