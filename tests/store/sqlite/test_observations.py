"""Observations in the store: replaced with their session, kept when its raw text goes."""

from __future__ import annotations

import typing
from pathlib import Path
from typing import Any

import apsw
import pytest

from session_memory.core.digest import DIGEST_VERSION
from session_memory.core.schema import (
    EXCLUDED_STATUSES,
    Observation,
    ObservationStatus,
    ObservationType,
)
from session_memory.store.port import ObservationQuery
from session_memory.store.sqlite import SqliteStore, observations, open_store, sources
from session_memory.testing.old_stores import back_to_version_1
from session_memory.testing.store_drafts import (
    START,
    Said,
    analyze,
    capture,
    event,
    evict,
    lived,
    turn,
)

ONE = Said("one", "/logs/one", (turn(0, "hello"), event(1, "answer")), lived(0, 1))
ALL = ObservationQuery(excluded=True)


def noted(text: str, kind: ObservationType = "decision", at: int = 0, **fields: Any) -> Observation:
    values: dict[str, Any] = {
        "status": "active",
        "importance": 3,
        "session": 1,
        "event": 1 << 24,
        "origin": "agent",
        "hash": f"{kind} {text}",
        **fields,
    }
    return Observation(type=kind, text=text, at=START + at, **values)


def observe(store: SqliteStore, *found: Observation, session: int = 1) -> None:
    """Store a session's observations and its digest, as a sweep does."""
    with store.writing() as writer:
        writer.save_observations({session: list(found)})
    analyze(store, session)


def texts(store: SqliteStore, query: ObservationQuery = ALL) -> list[str]:
    return [one.text for one in store.observations(query)]


@pytest.fixture
def filled(store: SqliteStore) -> SqliteStore:
    """A store with one session of two events."""
    assert capture(store, ONE) == [1]
    return store


def test_an_observation_comes_back_as_it_was(filled: SqliteStore) -> None:
    given = [noted("one ü"), noted("two", "pending_item", 5, status="promoted", event=None)]
    observe(filled, *given)
    assert filled.observations(ALL) == given


@pytest.mark.rows("OBS-01")
def test_every_type_and_status_is_stored_and_any_other_is_refused(filled: SqliteStore) -> None:
    types = typing.get_args(ObservationType)
    statuses = typing.get_args(ObservationStatus)
    known = [
        noted(f"{kind} {status}", kind, status=status) for kind in types for status in statuses
    ]
    observe(filled, *known)
    assert len(filled.observations(ALL)) == len(types) * len(statuses) == 12 * 7
    for wrong in ({"kind": "opinion"}, {"status": "nice"}, {"source": "dream"}, {"importance": 6}):
        fields: dict[str, Any] = {"kind": "decision", **wrong}
        with pytest.raises(apsw.ConstraintError):
            observe(filled, noted("x", **fields))
    assert len(filled.observations(ALL)) == len(known)


@pytest.mark.rows("OBS-02")
def test_excluded_statuses_are_listed_only_when_asked_for(filled: SqliteStore) -> None:
    observe(filled, noted("kept"), *(noted(s, status=s) for s in sorted(EXCLUDED_STATUSES)))
    assert texts(filled, ObservationQuery()) == ["kept"]
    assert len(texts(filled)) == 4


def test_a_session_that_is_read_again_has_its_observations_replaced(filled: SqliteStore) -> None:
    observe(filled, noted("old"), noted("both"))
    observe(filled, noted("both"), noted("new", at=3))
    assert texts(filled) == ["both", "new"]


def test_notes_of_the_user_stay_when_a_session_is_read_again(filled: SqliteStore) -> None:
    observe(filled, noted("mine", source="manual_note"), noted("old"))
    observe(filled, noted("new", at=1), noted("mine", at=9, importance=1))
    assert texts(filled) == ["mine", "new"]
    assert filled.observations(ALL)[0].importance == 3


def test_observations_outlive_the_raw_text_and_later_ones_are_added(filled: SqliteStore) -> None:
    observe(filled, noted("early"), noted("again", at=1))
    evict(filled, 1)
    assert texts(filled) == ["early", "again"]
    grown = Said("one", "/logs/one", (turn(7, "more"),), lived(0, 7))
    capture(filled, grown)
    observe(filled, noted("late", at=7), noted("again", at=8, event=(1 << 24) + 2))
    observe(filled, noted("later", at=9), noted("again", at=8, event=(1 << 24) + 2))
    assert texts(filled) == ["early", "again", "later"]
    assert filled.observations(ALL)[1].at == START + 8
    assert filled.fsck() == []


def test_queries_narrow_by_session_type_time_and_number(filled: SqliteStore) -> None:
    capture(filled, Said("two", "/logs/two", (turn(50, "other"),), lived(50, 50)))
    observe(filled, *(noted(f"d{n}", at=n) for n in range(5)), noted("p", "pending_item", 9))
    observe(filled, noted("far", session=2, event=2 << 24, at=60), session=2)
    assert texts(filled, ObservationQuery(session=2)) == ["far"]
    assert texts(filled, ObservationQuery(types=("pending_item",))) == ["p"]
    assert texts(filled, ObservationQuery(since=START + 4)) == ["d4", "p", "far"]
    assert texts(filled, ObservationQuery(limit=2)) == ["p", "far"]
    assert texts(filled, ObservationQuery(project="nowhere")) == []


def test_their_bytes_count_as_distilled(filled: SqliteStore) -> None:
    analyze(filled, 1)
    before = filled.raw_usage()
    observe(filled, noted("ü" * 10), noted("x"))
    after = filled.raw_usage()
    assert after.distilled_bytes - before.distilled_bytes == 21 + 2 * observations.ROW_BYTES
    assert after.raw_bytes == before.raw_bytes
    filled.replace_words(lambda data: data.replace("ü".encode(), b"u"))
    assert filled.raw_usage().distilled_bytes - before.distilled_bytes == 11 + 2 * (
        observations.ROW_BYTES
    )
    assert filled.fsck() == []


def test_the_dump_has_them_in_an_order_of_their_own_without_our_numbers(
    filled: SqliteStore,
) -> None:
    observe(filled, noted("b", at=2), noted("a", at=2), noted("c", at=1))
    (dumped,) = filled.dump()
    assert [one["text"] for one in dumped["observations"]] == ["c", "a", "b"]
    assert not {"session", "event", "id"} & set(dumped["observations"][0])


def test_a_session_of_an_older_version_is_outdated_while_its_raw_text_is_here(
    filled: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    observe(filled, noted("x"))
    assert filled.outdated(9) == []
    monkeypatch.setattr(sources, "DIGEST_VERSION", DIGEST_VERSION + 1)
    assert filled.outdated(9) == [1]
    evict(filled, 1)
    assert filled.outdated(9) == []


def test_a_store_of_version_1_is_observed_at_its_next_sweep(directory: Path) -> None:
    with open_store(str(directory), START, create_missing=True) as old:
        capture(old, ONE)
    back_to_version_1(directory)
    raw = apsw.Connection(str(directory / "store.db"))
    raw.execute("UPDATE session SET state = 'analyzed'")
    raw.execute("INSERT INTO digest VALUES (1, 'success', '0', '{}')")
    raw.close()
    with open_store(str(directory), START) as store:
        assert (store.unanalyzed(), store.outdated(9)) == ([], [1])
        assert store.fsck() == []


@pytest.mark.parametrize(
    ("found", "sql"),
    [
        ("observation_of_another_session", "UPDATE observation SET event_id = 5 << 24"),
        ("observation_past_its_session", "UPDATE observation SET event_id = (1 << 24) + 99"),
        ("wrong_observation_bytes", "UPDATE session SET observed_bytes = 1"),
        ("wrong_observation_bytes", "DELETE FROM observation"),
        ("foreign_key", "UPDATE observation SET session_id = 99"),
        ("integrity", "PRAGMA ignore_check_constraints = 1; UPDATE observation SET type = 'odd'"),
        ("observation", "DROP TABLE observation"),
    ],
)
def test_fsck_finds_broken_observations(
    filled: SqliteStore, directory: Path, found: str, sql: str
) -> None:
    observe(filled, noted("x"))
    assert filled.fsck() == []
    raw = apsw.Connection(str(directory / "store.db"))
    raw.execute("PRAGMA foreign_keys = 0")
    raw.execute(sql)
    raw.close()
    assert found in [finding.check for finding in filled.fsck()]


def test_every_check_is_proven_here() -> None:
    assert set(observations._CHECKS) == {  # pyright: ignore[reportPrivateUsage]
        "observation_of_another_session",
        "observation_past_its_session",
        "wrong_observation_bytes",
    }
