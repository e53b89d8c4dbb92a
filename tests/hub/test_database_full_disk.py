"""A disk that is full refuses a push clearly, loses nothing and doubles nothing.

A limit on the size of files stands for the full disk: a write that goes beyond it fails as one
without room does, and no right to mount anything is needed.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from tests.hub.content import content, counted, miscounted, owner_of
from tests.hub.team import Team

from session_memory.core.sharing import wire
from session_memory.hub.app import Hub
from session_memory.hub.erase import finish
from session_memory.testing.postgres_server import PostgresServer

resource = pytest.importorskip("resource", reason="limits on files are those of Unix")
WITH_A_JOURNAL_FILE = 2_000_000
"""PostgreSQL's own journal has files of 1 MiB here, which it makes at once."""
SESSIONS = 16
"""So many that what is stored of them does not fit into such a file."""


@contextmanager
def room(size: int) -> Generator[None]:
    """Let this process, and those that it starts, write no file beyond a size."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def restart(postgres: PostgresServer) -> None:
    postgres.kill()
    postgres.start()


@pytest.mark.rows("HUB-23")
def test_a_full_object_storage_refuses_texts_and_keeps_what_is_there(
    team: Team, hub: Hub, database: str, tmp_path: Path
) -> None:
    ann = team.device("Ann")
    ann.share()
    assert ann.push(ann.events("s", "hello world")).taken == 1
    large = ann.batch(ann.events("t", "x" * 300_000), ann.item("rule", "r", "use uv"))
    before = content(database)
    with room(64_000):
        refused = ann.post("/v1/push", large)
    assert (refused.status, refused.code) == (503, "unavailable")
    assert content(database) == before
    assert [hit.text for hit in ann.search("hello")] == ["hello world"]
    assert ann.post("/v1/push", large).status == 200
    assert {hit.text for hit in ann.search("uv")} == {"use uv"}
    with psycopg.connect(owner_of(database)) as connection:
        connection.execute("UPDATE hub.erasure SET after = now()")
    assert finish(hub.pool, hub.texts), "what the refused push left is deleted"
    assert counted(database, "erasure") == 0
    files = [path for path in (tmp_path / "objects").rglob("*") if path.is_file()]
    keys = [path for path in (tmp_path / "vault" / "keys").rglob("*") if path.is_file()]
    assert (len(files), len(keys)) == (2, 2)


@pytest.mark.rows("HUB-23")
def test_a_full_database_refuses_a_push_whole_and_takes_it_later(
    team: Team, database: str, postgres: PostgresServer
) -> None:
    ann = team.device("Ann")
    ann.share()
    ann.push(ann.events("s", "hello world"))
    before = content(database)
    words = " ".join(f"w{n}" for n in range(3_400))
    large = ann.batch(*(ann.events(f"t{n}", f"{words} {n}") for n in range(SESSIONS)))
    with room(WITH_A_JOURNAL_FILE):
        restart(postgres)
    try:
        refused = ann.post("/v1/push", large)
        assert (refused.status, refused.code) == (503, "unavailable"), refused
        assert [hit.text for hit in ann.search("hello")] == ["hello world"], "reading goes on"
    finally:
        restart(postgres)
    assert content(database) == before
    assert ann.post("/v1/push", large).value(wire.Pushed).taken == SESSIONS
    assert ann.post("/v1/push", large).value(wire.Pushed).taken == 0
    assert miscounted(database) == []
