"""What is forgotten is gone everywhere, stays away, and can be proved to be gone."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from tests.hub.content import content, counted, owner_of
from tests.hub.team import PROJECT, Device, Team

from session_memory.core.sharing import wire
from session_memory.hub import admin
from session_memory.hub.app import Hub
from session_memory.hub.forget import replay


def files(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()]


def shared_sessions(team: Team) -> Device:
    ann = team.device("Ann")
    ann.share()
    for name in ("keep", "drop"):
        ann.push(
            ann.item("digest", name, f"digest of {name}", session=name),
            ann.item("cure", name, f"cure of {name}: zeppelin", session=name),
            ann.events(name, f"question about zeppelin in {name}", "answer"),
        )
    return ann


@pytest.mark.rows("HUB-05")
def test_forgetting_a_session_deletes_all_of_it_and_proves_it(
    team: Team, database: str, tmp_path: Path
) -> None:
    ann = shared_sessions(team)
    target = wire.Tombstone("session", ann.session_key("drop"))
    before = ann.prove(target)
    assert (before.rows, before.refused) == (3, False)
    erased = ann.forget(target)
    assert (erased.items, erased.complete) == (3, True)
    assert ann.prove(target) == wire.Proof(0, 0, 0, 0, refused=True)
    left = content(database)
    assert all(row[6] == ann.session_key("keep") for row in left["items"])
    assert all(row[0] is not None for row in [*left["postings"], *left["runs"]])
    assert len(files(tmp_path / "objects")) == 1
    assert len(files(tmp_path / "vault" / "keys")) == 1
    assert {hit.session for hit in ann.search("zeppelin")} == {ann.session_key("keep")}
    assert ann.get(f"/v1/session/{ann.session_key('drop')}").code == "not_found"
    assert ann.forget(target).items == 0


@pytest.mark.rows("HUB-06")
def test_what_was_forgotten_is_refused_in_any_version_from_any_device(team: Team) -> None:
    ann = shared_sessions(team)
    ann.forget(wire.Tombstone("session", ann.session_key("drop")))
    second = team.device("Ann", member=ann.joined.member)
    second.generation = ann.generation
    pushed = second.push(
        second.item("cure", "drop", "redacted anew", rank=99, session="drop"),
        second.events("drop", "more of it", rank=99, first=200),
        second.item("cure", "other", "of another session", session="other"),
    )
    assert [each.reason for each in pushed.refused] == ["forgotten", "forgotten"]
    assert pushed.taken == 1


@pytest.mark.rows("HUB-06")
def test_a_tombstone_that_comes_before_its_item_keeps_it_out(team: Team) -> None:
    ann = team.device("Ann")
    ann.share()
    item = ann.item("rule", "r", "never push to main")
    ann.forget(wire.Tombstone("item", item.key))
    assert [each.reason for each in ann.push(item).refused] == ["forgotten"]


@pytest.mark.rows("HUB-07")
def test_others_are_told_at_their_next_pull(team: Team) -> None:
    ann = shared_sessions(team)
    bob = team.device("Bob")
    first = bob.pull()
    assert len(first.items) == 4
    ann.forget(wire.Tombstone("session", ann.session_key("drop")))
    page = bob.pull(first.cursor)
    assert page.items == ()
    (gone,) = page.deleted
    assert (gone.target, gone.key, gone.member) == (
        "session", ann.session_key("drop"), ann.joined.member,
    )  # fmt: skip
    assert bob.pull(page.cursor).deleted == ()


def test_nobody_forgets_what_is_another_members(team: Team, database: str) -> None:
    ann, bob = shared_sessions(team), team.device("Bob")
    bob.share()
    before = content(database)["items"]
    erased = bob.forget(wire.Tombstone("session", ann.session_key("drop")))
    assert erased.items == 0
    assert content(database)["items"] == before
    assert bob.prove(wire.Tombstone("session", ann.session_key("drop"))).rows == 0


def test_a_newer_version_of_a_text_destroys_the_key_of_the_older_one(
    team: Team, tmp_path: Path
) -> None:
    ann = team.device("Ann")
    ann.share()
    ann.push(ann.events("s", "it held a secret", rank=1))
    old = set(files(tmp_path / "vault" / "keys"))
    ann.push(ann.events("s", "it held a [redacted]", rank=2))
    now = set(files(tmp_path / "vault" / "keys"))
    assert len(now) == 1 and not old & now
    assert len(files(tmp_path / "objects")) == 1


def test_unsharing_deletes_all_of_the_member_and_nothing_of_others(
    team: Team, database: str, tmp_path: Path
) -> None:
    ann, bob = shared_sessions(team), team.device("Bob")
    bob.share()
    bob.push(bob.item("rule", "r", "bob's rule"))
    cursor = bob.pull().cursor
    erased = ann.post("/v1/unshare", wire.Unshare(PROJECT)).value(wire.Erased)
    assert (erased.items, erased.complete) == (6, True)
    assert [row[1] for row in content(database)["items"]] == ["Bob"]
    assert files(tmp_path / "objects") == [] and files(tmp_path / "vault" / "keys") == []
    assert [each.target for each in bob.pull(cursor).deleted] == ["member"]
    ann.share("lessons")
    assert ann.push(ann.item("rule", "again", "shared again")).taken == 1
    assert [each.item.text for each in bob.pull(cursor).items] == ["shared again"]


@pytest.mark.rows("HUB-08")
def test_a_restored_backup_forgets_again_what_was_forgotten_since(
    team: Team, hub: Hub, database: str, postgres_copy: str
) -> None:
    ann, bob = shared_sessions(team), team.device("Bob")
    stolen = team.device("Eve")
    cursor = bob.pull().cursor
    _replace(database, postgres_copy, save=True)
    target = wire.Tombstone("session", ann.session_key("drop"))
    ann.forget(target)
    admin.revoke(hub.pool, hub.texts, "acme", stolen.joined.device)
    _replace(database, postgres_copy, save=False)
    assert stolen.get("/v1/whoami").status == 200  # the backup did not know
    assert replay(hub.pool, hub.texts) == 2
    assert stolen.get("/v1/whoami").code == "token_revoked"
    assert ann.prove(target).rows == 0 and ann.prove(target).refused
    page = bob.pull(cursor)
    assert page.restart and len(page.items) == 2
    assert replay(hub.pool, hub.texts) == 0


@pytest.fixture
def postgres_copy() -> str:
    """The name of a database to keep a backup in."""
    return "hub_backup"


def _replace(database: str, copy: str, *, save: bool) -> None:
    """Copy a database as a backup does, or put the copy in its place as a restore does."""
    name = database.rpartition("/")[2]
    source, target = map(sql.Identifier, (name, copy) if save else (copy, name))
    administer = owner_of(database).rpartition("/")[0] + "/postgres"
    with psycopg.connect(administer, autocommit=True) as connection:
        closed = sql.SQL("ALTER DATABASE {} ALLOW_CONNECTIONS {}")
        original = sql.Identifier(name)
        connection.execute(closed.format(original, sql.SQL("false")))  # the pool connects again
        connection.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s",
            (name,),
        )
        if not save:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(target))
        made = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        connection.execute(made.format(target, source))
        if save:
            connection.execute(closed.format(original, sql.SQL("true")))
        else:
            connection.execute(sql.SQL("DROP DATABASE {}").format(source))


def test_a_decision_in_the_journal_that_was_never_committed_is_applied_later(
    team: Team, hub: Hub, database: str
) -> None:
    ann = shared_sessions(team)
    ann.forget(wire.Tombstone("session", ann.session_key("drop")))
    with psycopg.connect(owner_of(database)) as connection:  # as if it had ended before the commit
        connection.execute("DELETE FROM hub.journal")
        connection.execute("DELETE FROM hub.tombstone")
    assert replay(hub.pool, hub.texts) == 1
    assert counted(database, "tombstone") == 1
