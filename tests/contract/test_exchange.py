"""What another store needs to take sessions over, and the way back in."""

from __future__ import annotations

from typing import Protocol

import pytest

from session_memory.core.spool import SpoolRecord
from session_memory.errors import Refused
from session_memory.store.exchange import Gone, Note, imported_key
from session_memory.store.port import Store
from session_memory.testing.store_drafts import (
    START,
    Said,
    capture,
    distilled,
    event,
    lived,
    response,
    texts,
)


class StoreFactory(Protocol):
    def __call__(self, name: str = "store", *, read_only: bool = False) -> Store: ...


ONE = Said(
    "one",
    "/logs/one.jsonl",
    (event(1, "first", usage_key=response("a").key),),
    lived(1, 2),
    (response("a"),),
)


def test_a_session_is_found_by_its_exact_name(store: Store) -> None:
    (one,) = capture(store, ONE)
    assert store.exchange.find("claude", "one") == one
    assert store.exchange.find("claude", "on") is None
    assert store.exchange.find("codex", "one") is None


def test_origins_say_where_everything_came_from(store: Store) -> None:
    (one,) = capture(store, ONE)
    store.live.note([SpoolRecord("r", START, "claude", "stop", session="one", model="large")])
    origins = store.exchange.origins(one)
    assert list(origins.paths.values()) == ["/logs/one.jsonl"]
    assert {fact.name for _, fact in origins.facts} == {"opened_at", "started_at", "ended_at"}
    assert [note.value for note in origins.notes if note.name == "model"] == ["large"]
    assert [usage.key for usage in origins.usages] == [response("a").key]
    assert list(origins.responses.values()) == [response("a").key]
    assert origins.lasting == frozenset()


def test_only_a_blank_store_takes_over_a_key(store_factory: StoreFactory) -> None:
    store = store_factory()
    assert store.exchange.is_blank()
    store.exchange.adopt(b"k" * 32)
    store = store_factory()
    assert store.fingerprint_key == b"k" * 32
    capture(store, ONE)
    assert not store.exchange.is_blank()
    with pytest.raises(Refused):
        store.exchange.adopt(b"l" * 32)


def test_an_imported_event_gives_way_to_the_same_event_of_a_log(store: Store) -> None:
    made_up = imported_key(store.fingerprint_key, "first")
    with store.writing():
        store.exchange.expect_twins()
    imported = Said("one", "/imported", (event(1, "first", fingerprint=made_up),), lived(1, 2))
    (one,) = capture(store, imported)
    capture(store, ONE)
    assert texts(store, one) == ["first"]
    assert [found.fingerprint for found in store.events(one)] == [ONE.events[0].fingerprint]


def test_the_evicted_part_of_a_session_comes_along(store: Store) -> None:
    (one,) = capture(store, ONE)
    gone = Gone(events=5, whole=False, digest=distilled("the first half"), lasting=())
    with store.writing():
        store.exchange.restore_gone(one, gone)
        store.exchange.add_notes("claude", "one", (Note("model", "large", START),))
    assert store.session(one).event_count == 6
    kept = store.evicted_digest(one)
    assert kept is not None and kept.objective == "the first half"
    assert store.live.notes("claude", "one") == {"model": "large"}
