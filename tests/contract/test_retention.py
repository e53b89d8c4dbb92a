"""Promise 6: raw text leaves only through `evict`, and what must stay stays."""

from __future__ import annotations

import pytest

from session_memory.core.retention.plan import Eviction
from session_memory.errors import NotFound
from session_memory.store.port import Holder, Store
from session_memory.testing.store_drafts import (
    START,
    Said,
    add_draft,
    analyze,
    capture,
    cursor,
    distilled,
    event,
    evict,
    lived,
    response,
    texts,
    turn,
)

ONE = Said(
    "one",
    "/logs/one",
    (turn(0, "needle in hay"), event(5, "answer"), event(9)),
    lived(0, 9),
    (response("r", 30),),
)
TWO = Said("two", "/logs/two", (turn(50, "something else"),), lived(50, 50))


@pytest.fixture
def evicted(store: Store) -> int:
    """A session whose raw text has gone, beside one that has its text."""
    session_id, _ = capture(store, ONE, TWO)
    with store.writing() as writer:
        writer.save_cursor("/logs/one", cursor(writer.source("claude", "/logs/one"), 77))
    analyze(store, session_id)
    evict(store, session_id)
    return session_id


@pytest.mark.rows("DIG-04")
def test_session_digest_and_cost_survive_eviction(store: Store, evicted: int) -> None:
    session = store.session(evicted)
    assert session.state == "raw_evicted"
    assert session.event_count == 3
    assert (session.cost.output, session.started_at) == (30, START)
    assert store.digest(evicted) == store.evicted_digest(evicted) == distilled()
    assert store.find_session("one") == session
    assert {row.group: row.cost.output for row in store.usage("session")} == {"one": 30}
    assert store.fsck() == []


def test_eviction_takes_events_texts_and_index_entries(store: Store, evicted: int) -> None:
    assert list(store.events(evicted, texts=True)) == []
    assert store.search("needle") == []
    assert len(store.search("something")) == 1
    assert [raw.external_id for raw in store.raw_sessions()] == ["two"]
    assert store.info().text_bytes == len("something else")


def test_an_evicted_event_is_known_again_and_does_not_come_back(store: Store, evicted: int) -> None:
    wanted = event(5, "answer").fingerprint
    with store.writing() as writer:
        assert writer.holders([wanted]) == {wanted: [Holder(evicted, None, None, None)]}
        session = writer.session("claude", "one", None)
        assert session.evicted_to == {writer.source("claude", "/logs/one"): 77}
    capture(store, ONE)
    assert list(store.events(evicted)) == []
    assert store.session(evicted).event_count == 3


def test_what_comes_after_eviction_is_captured_behind_it(store: Store, evicted: int) -> None:
    capture(store, Said("one", "/logs/one", (event(90, "later"),)))
    assert texts(store, evicted) == ["later"]
    assert [found.seq for found in store.events(evicted)] == [3]
    assert store.session(evicted).state == "captured"
    assert store.session(evicted).event_count == 4
    assert store.evicted_digest(evicted) == distilled()
    analyze(store, evicted, distilled("both parts"))
    assert store.evicted_digest(evicted) == distilled()
    evict(store, evicted)
    assert store.evicted_digest(evicted) == distilled("both parts")


def test_the_text_of_an_event_read_before_eviction_is_never_another_text(store: Store) -> None:
    session_id, _ = capture(store, ONE, TWO)
    held = list(store.events(session_id))
    analyze(store, session_id)
    evict(store, session_id)
    capture(store, Said("three", "/logs/three", (event(99, "a stranger's text"),)))
    for found in held:
        with pytest.raises(NotFound):
            store.text(found)


def test_a_session_without_a_digest_goes_only_as_loss(store: Store) -> None:
    (session_id,) = capture(store, ONE)
    evict(store, session_id, data_loss=True)
    assert store.session(session_id).state == "raw_evicted"
    assert store.digest(session_id) is store.evicted_digest(session_id) is None
    assert store.fsck() == []


def test_eviction_gives_back_the_bytes_of_its_segments(store: Store) -> None:
    one, _ = capture(store, ONE, TWO)
    analyze(store, one)
    before = store.info().segment_bytes
    freed = evict(store, one)
    assert freed > 0
    assert store.info().segment_bytes == before - freed
    assert store.evict([Eviction(one, "one", 0, "age")], START) == 0


def test_usage_is_the_sum_of_the_shares(store: Store) -> None:
    one, two = capture(store, ONE, TWO)
    shares = {raw.session_id: raw.raw_bytes for raw in store.raw_sessions()}
    assert store.raw_usage().raw_bytes == sum(shares.values()) > store.info().segment_bytes
    analyze(store, one)
    assert store.raw_usage().distilled_bytes > 0
    evict(store, one)
    assert store.raw_usage().raw_bytes == shares[two]


def test_last_at_is_the_end_or_else_the_time_of_capture(store: Store) -> None:
    capture(store, ONE, Said("undated", "/logs/undated", (event(0, "x"),)))
    assert {raw.external_id: raw.last_at for raw in store.raw_sessions()} == {
        "one": START + 9,
        "undated": START,
    }


def grow(store: Store, name: str, count: int) -> int:
    """A session that came in `count` commits."""
    found = 0
    for index in range(count):
        body = f"{name} part {index} " * (index + 1)
        (found,) = capture(store, Said(name, f"/logs/{name}", (turn(index, body),)))
    return found


def test_compaction_joins_segments_and_changes_nothing_else(store: Store) -> None:
    session_id = grow(store, "grown", 5)
    grow(store, "other", 2)
    before, held = list(store.dump()), list(store.events(session_id))
    wanted = texts(store, session_id)
    assert store.crowded(4) == [session_id]
    assert store.compact(session_id) == 4
    assert store.crowded(1) != [session_id]
    assert store.compact(session_id) == 0
    assert list(store.dump()) == before
    assert [store.text(found) for found in held] == wanted  # although their texts have moved
    assert store.sweep_orphans() == 0
    assert store.fsck() == []


def test_a_compacted_session_grows_and_is_evicted_like_any_other(store: Store) -> None:
    session_id = grow(store, "grown", 3)
    store.compact(session_id)
    capture(store, Said("grown", "/logs/grown", (event(50, "more"),)))
    assert texts(store, session_id)[-1] == "more"
    analyze(store, session_id)
    evict(store, session_id)
    assert store.info().segment_bytes == 0
    assert store.fsck() == []


def test_sweeping_orphans_leaves_live_texts_alone(store: Store) -> None:
    session_id = grow(store, "grown", 3)
    assert store.sweep_orphans() == 0
    assert len(texts(store, session_id)) == 3
    with store.writing() as writer:
        add_draft(writer, TWO)
    assert store.sweep_orphans() == 0
    assert store.fsck() == []
