"""Where distilling stood is kept for as long as the events up to there are the same."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from session_memory.core.schema import SessionEvent
from session_memory.store.port import Store
from session_memory.store.values import Checkpoint
from session_memory.testing.store_drafts import (
    Said,
    analyze,
    capture,
    event,
    evict,
    lived,
    turn,
)

SHOP = Said("shop", "/logs/m.jsonl", (turn(10, "buy oak"), event(20, "bought")), lived(1, 2))
MORE = msgspec.structs.replace(SHOP, events=(event(30, "and more"),))


def stood(store: Store, session_id: int, name: str = "name") -> Checkpoint:
    """A checkpoint behind all there is."""
    events = list(store.events_to_distil(session_id))
    found = Checkpoint(name, max(one.seq for one in events) + 1, events[-1].id, b"body" * 9)
    with store.writing() as writer:
        writer.save_checkpoint(session_id, found)
    return found


@pytest.fixture
def shop(store: Store) -> int:
    """A session with a digest and a checkpoint."""
    (session_id,) = capture(store, SHOP)
    analyze(store, session_id)
    stood(store, session_id)
    return session_id


@pytest.mark.rows("CAP-48")
def test_what_comes_behind_it_is_all_that_is_to_be_read(store: Store, shop: int) -> None:
    found = store.checkpoint(shop)
    assert found == Checkpoint("name", 2, (shop << 24) + 1, b"body" * 9)
    capture(store, MORE)
    assert store.checkpoint(shop) == found
    assert [one.text for one in store.events_to_distil(shop, found.next_seq)] == ["and more"]
    assert [one.text for one in store.events_to_distil(shop)] == ["buy oak", "bought", "and more"]


def test_the_next_one_takes_its_place(store: Store, shop: int) -> None:
    newer = stood(store, shop, "newer")
    assert store.checkpoint(shop) == newer


def test_another_place_of_the_same_text_is_no_change(store: Store, shop: int) -> None:
    capture(store, MORE)
    assert store.compact(shop) == 1
    assert store.checkpoint(shop) is not None
    assert [one.text for one in store.events_to_distil(shop, 2)] == ["and more"]


def same_length(found: SessionEvent) -> SessionEvent:
    return msgspec.structs.replace(found, text=(found.text or "").replace("oak", "elm"))


def forget_one(store: Store, shop: int) -> None:
    (hit,) = store.find_text("bought")
    store.forget_events(shop, hit.fingerprints)


def retire(store: Store, shop: int) -> None:
    with store.writing() as writer:
        writer.retire(writer.source("claude", "/logs/m.jsonl"), set(), delete=False)


def fork(store: Store, shop: int) -> None:
    """An older session turns out to hold the same: here it is a copy."""
    older = msgspec.structs.replace(
        SHOP, session="older", path="/logs/older.jsonl", facts=lived(0, 1)
    )
    capture(store, older)


def earlier_file(store: Store, shop: int) -> None:
    capture(store, msgspec.structs.replace(MORE, path="/logs/a.jsonl"))


def set_aside(store: Store, shop: int) -> None:
    with store.writing() as writer:
        writer.set_aside(writer.source("claude", "/logs/m.jsonl"))


@pytest.mark.rows("CAP-48", "FGT-04")
@pytest.mark.parametrize(
    "change",
    [
        lambda store, shop: store.rewrite(shop, same_length),
        lambda store, shop: store.replace_words(lambda words: words.replace(b"oak", b"elm")),
        lambda store, shop: evict(store, shop),
        lambda store, shop: store.forget_sessions({shop}),
        forget_one,
        retire,
        fork,
        earlier_file,
        set_aside,
    ],
)
def test_it_goes_with_any_change_of_its_events(
    store: Store, shop: int, change: Callable[[Store, int], object]
) -> None:
    change(store, shop)
    assert store.checkpoint(shop) is None


def test_only_so_many_are_kept_and_the_oldest_sessions_go_first(store: Store) -> None:
    said = [
        Said(f"s{at}", f"/logs/{at}.jsonl", (event(at, f"number {at}"),), lived(at, at + 1))
        for at in range(70)
    ]
    sessions = capture(store, *said)
    for session_id in reversed(sessions):
        stood(store, session_id)
    assert [one for one in sessions if store.checkpoint(one) is None] == sessions[:6]
