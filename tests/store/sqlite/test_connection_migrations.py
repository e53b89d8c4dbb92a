"""A store moves to a newer schema whole or not at all, and an older program keeps its hands off."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from session_memory.errors import StoreDamaged, StoreMissing, StoreTooNew
from session_memory.store.sqlite import SqliteStore, connection, open_store
from session_memory.testing.old_stores import back_to_version_1, back_to_version_20
from session_memory.testing.store_drafts import START, Said, capture, event, response, texts

NEXT = connection.SCHEMA_VERSION + 1
ONE = Said("one", "/logs/one", (event(0, "text"),))


def raw(directory: Path) -> apsw.Connection:
    return apsw.Connection(str(directory / "store.db"))


def schema(directory: Path) -> list[tuple[str, str]]:
    opened = raw(directory)
    found = opened.execute("SELECT name, sql FROM sqlite_master ORDER BY name").fetchall()
    version = opened.pragma("user_version")
    opened.close()
    return [*found, ("user_version", str(version))]


def new_program(monkeypatch: pytest.MonkeyPatch, sql: str) -> None:
    """As if this program had one more migration."""
    plain = connection._migration  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(connection, "SCHEMA_VERSION", NEXT)
    monkeypatch.setattr(
        connection, "_migration", lambda number: sql if number == NEXT else plain(number)
    )


def test_a_new_store_has_the_schema_of_this_program(store: SqliteStore, directory: Path) -> None:
    opened = raw(directory)
    done = opened.execute("SELECT version FROM schema_migration ORDER BY version").fetchall()
    opened.close()
    assert [row[0] for row in done] == list(range(1, NEXT))
    assert store.info().schema_version == connection.SCHEMA_VERSION


def test_a_store_of_version_1_opens_with_all_its_content(directory: Path) -> None:
    with open_store(str(directory), START, create_missing=True) as old:
        (session_id,) = capture(old, ONE)
    back_to_version_1(directory)
    with open_store(str(directory), START) as store:
        assert store.info().schema_version == connection.SCHEMA_VERSION
        assert texts(store, session_id) == ["text"]
        assert store.fsck() == []


def test_usage_of_an_older_store_is_the_same_before_and_after_it_is_brought_up_to_date(
    directory: Path,
) -> None:
    with open_store(str(directory), START, create_missing=True) as old:
        capture(old, Said("one", "/logs/one", (event(0),), (), (response("r"), response("s", 5))))
        expected = old.usage("model")
    back_to_version_20(directory)
    for read_only in (True, False):
        with open_store(str(directory), START, read_only=read_only) as store:
            assert store.usage("model") == expected != []


def test_a_newer_program_brings_the_store_up_to_date(
    store: SqliteStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (session_id,) = capture(store, ONE)
    keys = store.fingerprint_key, store.tag_key
    store.close()
    new_program(monkeypatch, "CREATE TABLE extra (id INTEGER PRIMARY KEY) STRICT;")
    with open_store(str(directory), START) as upgraded:
        assert upgraded.info().schema_version == NEXT
        assert texts(upgraded, session_id) == ["text"]
        assert (upgraded.fingerprint_key, upgraded.tag_key) == keys
    assert "extra" in dict(schema(directory))


@pytest.mark.parametrize("sql", ["NOT SQL;", "INSERT INTO nowhere VALUES (1);"])
def test_a_migration_that_fails_half_way_leaves_the_old_store(
    store: SqliteStore, directory: Path, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    (session_id,) = capture(store, ONE)
    store.close()
    before = schema(directory)
    half = "CREATE TABLE extra (id INTEGER); DROP TABLE eviction; DELETE FROM fact;"
    new_program(monkeypatch, half + sql)
    with pytest.raises(apsw.SQLError):
        open_store(str(directory), START)
    monkeypatch.undo()
    assert schema(directory) == before
    with open_store(str(directory), START) as again:
        assert texts(again, session_id) == ["text"]
        assert again.fsck() == []


@pytest.mark.parametrize("faulty", [1, NEXT - 1])
def test_a_new_store_gets_all_migrations_or_none(
    directory: Path, monkeypatch: pytest.MonkeyPatch, faulty: int
) -> None:
    plain = connection._migration  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(
        connection, "_migration", lambda number: plain(number) + "NOT SQL;" * (number == faulty)
    )
    with pytest.raises(apsw.SQLError):
        open_store(str(directory), START, create_missing=True)
    monkeypatch.undo()
    assert schema(directory) == [("user_version", "0")]
    with pytest.raises(StoreMissing):
        open_store(str(directory), START, read_only=True)
    with open_store(str(directory), START) as store:
        capture(store, ONE)
        assert store.fsck() == []


@pytest.mark.parametrize("read_only", [False, True])
def test_a_store_of_a_newer_program_is_refused_untouched(
    store: SqliteStore, directory: Path, read_only: bool
) -> None:
    store.close()
    opened = raw(directory)
    opened.pragma("user_version", NEXT)
    opened.close()
    before = schema(directory)
    with pytest.raises(StoreTooNew) as refused:
        open_store(str(directory), START, read_only=read_only)
    assert refused.value.exit_code == 5
    assert schema(directory) == before


def test_a_program_that_was_running_during_an_upgrade_stops_writing(
    store: SqliteStore, directory: Path
) -> None:
    capture(store, ONE)
    opened = raw(directory)
    opened.pragma("user_version", NEXT)
    opened.close()
    before = list(store.dump())
    with pytest.raises(StoreTooNew):
        capture(store, Said("two", "/logs/two", (event(5, "x"),)))
    with pytest.raises(StoreTooNew):
        store.compact(1)
    with pytest.raises(StoreTooNew):
        store.sweep_orphans()
    assert list(store.dump()) == before


def test_a_migration_missing_from_the_installation_is_reported(
    store: SqliteStore, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.close()
    monkeypatch.setattr(connection, "SCHEMA_VERSION", NEXT)
    with pytest.raises(StoreDamaged, match=f"migration {NEXT}"):
        open_store(str(directory), START)


def test_migrations_are_numbered_without_gaps() -> None:
    found = [connection._migration(number) for number in range(1, NEXT)]  # pyright: ignore[reportPrivateUsage]
    assert all(found)
