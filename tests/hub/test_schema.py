"""Migrations of a hub that holds something already."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from tests.hub.content import miscounted, misplaced

from session_memory.hub import schema
from session_memory.testing.postgres_server import PostgresServer

# A run of three events, as schema 2 kept it: (document << 7) + how often.
HELD = """
INSERT INTO hub.team (name, key) VALUES ('acme', 'k');
INSERT INTO hub.project (team_id, key) VALUES (1, 'shop');
INSERT INTO hub.member (id, team_id, display_name) VALUES ('ann', 1, 'Ann');
INSERT INTO hub.session (team_id, project_id, member_id, key) VALUES (1, 1, 'ann', 's');
INSERT INTO hub.item (team_id, project_id, member_id, kind, key, hash, rank, session, text)
  VALUES (1, 1, 'ann', 'events', 'k', 'h', 1, 1, '');
INSERT INTO hub.run (item_id, field, team_id, project_id, session, seqs, lengths, documents, words,
  stems) VALUES (1, 1, 1, 1, 1, '{4,6,7}', '{3,70000,1}', 3, 70004, '{use uv uv,poetri,now}');
INSERT INTO hub.posting (project_id, field, term, item_id, hits)
  VALUES (1, 1, 'uv', 1, '{2}'), (1, 1, 'poetri', 1, '{129}'), (1, 1, 'use', 1, '{1,130}'),
  (1, 1, 'now', 1, '{1,129,257}');
"""


@pytest.fixture
def owner(postgres: PostgresServer) -> Iterator[str]:
    """An empty database and its owner, who is no superuser: row-level security is forced on it."""
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute("CREATE ROLE hub_owner LOGIN CREATEROLE NOSUPERUSER")
        connection.execute("CREATE DATABASE hub_old OWNER hub_owner")
    yield postgres.url("hub_old", "hub_owner")
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute("DROP DATABASE hub_old WITH (FORCE)")
        connection.execute("DROP ROLE hub_owner")


@pytest.mark.rows("HUB-21")
def test_the_index_of_an_older_hub_is_carried_over(
    owner: str, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = schema.migrations()
    with monkeypatch.context() as patch:
        patch.setattr(schema, "migrations", lambda: every[:2])
        schema.make(owner, role="hub_old_role")
    with psycopg.connect(postgres.url("hub_old"), autocommit=True) as connection:
        connection.execute(HELD)  # type: ignore[arg-type]
    assert schema.make(owner, role="hub_old_role") == [number for number, _ in every[2:]]
    with psycopg.connect(postgres.url("hub_old")) as connection:
        hits = connection.execute("SELECT term, session, hits FROM hub.posting ORDER BY 1")
        assert hits.fetchall() == [
            ("now", 1, [(3 << 15) + 1, (65535 << 15) + 129, (1 << 15) + 257]),
            ("poetri", 1, [(65535 << 15) + 129]),
            ("use", 1, [(3 << 15) + 1, (65535 << 15) + 130]),
            ("uv", 1, [(3 << 15) + 2]),
        ]
        orders = connection.execute("SELECT number, words FROM hub.word_order ORDER BY 1")
        assert orders.fetchall() == [(0, "use uv uv"), (1, "poetri"), (2, "now")]
        bits = connection.execute("SELECT documents FROM hub.posting WHERE documents IS NOT NULL")
        assert bits.fetchall() == [("111" + "0" * 253,)]
        forced = connection.execute(
            "SELECT count(*) FROM pg_class WHERE relnamespace = 'hub'::regnamespace"
            " AND relkind = 'r' AND relname <> 'migration' AND NOT relforcerowsecurity"
        )
        assert forced.fetchone() == (0,)
    assert miscounted(postgres.url("hub_old")) == []
    assert misplaced(postgres.url("hub_old")) == []
    with psycopg.connect(postgres.url("hub_old"), autocommit=True) as connection:
        connection.execute("DROP OWNED BY hub_old_role")
        connection.execute("DROP ROLE hub_old_role")
