"""Promises 1, 2, 7 and 8: what a block of writing makes visible, when, and to whom."""

from __future__ import annotations

import threading
from typing import Protocol

import pytest

from session_memory.core.facts import Fact
from session_memory.errors import StoreMissing
from session_memory.store.port import SessionQuery, Store
from session_memory.testing.store_drafts import (
    START,
    Said,
    add_draft,
    analyze,
    capture,
    cursor,
    event,
    evict,
    lived,
    response,
    texts,
    turn,
)


class StoreFactory(Protocol):
    def __call__(self, name: str = "store", *, read_only: bool = False) -> Store: ...


ONE = Said("one", "/logs/one", (turn(0, "hello"), event(9, "world")), lived(0, 9))
TWO = Said("two", "/logs/two", (turn(100, "other"),), lived(100, 100))


class Broken(Exception):
    """Raised by a test inside a block of writing."""


def names(store: Store) -> list[str]:
    return sorted(session.external_id for session in store.sessions(SessionQuery()))


def test_what_was_committed_is_there_after_reopening(store_factory: StoreFactory) -> None:
    store = store_factory()
    (session_id,) = capture(store, ONE)
    before, keys = list(store.dump()), (store.fingerprint_key, store.tag_key)
    store.close()
    again = store_factory()
    assert list(again.dump()) == before
    assert texts(again, session_id) == ["hello", "world"]
    assert (again.fingerprint_key, again.tag_key) == keys


def test_every_store_has_keys_of_its_own(store_factory: StoreFactory) -> None:
    one, other = store_factory("a"), store_factory("b")
    keys = {one.fingerprint_key, one.tag_key, other.fingerprint_key, other.tag_key}
    assert len(keys) == 4
    assert {len(key) for key in keys} == {32}


def test_a_block_that_raises_leaves_no_trace(store: Store) -> None:
    capture(store, ONE)
    before, info = list(store.dump()), store.info()
    with pytest.raises(Broken), store.writing() as writer:
        session_id = add_draft(writer, TWO)
        writer.save_cursor("/logs/two", cursor(writer.source("claude", "/logs/two"), 5))
        writer.settle({session_id})
        raise Broken
    after = store.info()
    assert list(store.dump()) == before
    assert (after.sessions, after.events, after.sources) == (1, 2, 1)
    assert after.segment_bytes == info.segment_bytes
    assert store.cursor("/logs/two") is None
    assert store.search("other") == []
    assert store.sweep_orphans() == 0
    assert store.fsck() == []


def test_after_a_commit_inside_a_block_only_the_rest_can_be_lost(store: Store) -> None:
    with pytest.raises(Broken), store.writing() as writer:
        writer.settle({add_draft(writer, ONE)})
        writer.commit()
        add_draft(writer, TWO)
        raise Broken
    assert names(store) == ["one"]
    assert store.fsck() == []


def test_a_session_goes_on_after_a_commit_inside_a_block(store: Store) -> None:
    with store.writing() as writer:
        source_id = writer.source("claude", "/logs/one")
        session = writer.session("claude", "one", None)
        writer.link(session, source_id)
        writer.append(session, source_id, [event(0, "before")])
        writer.commit()
        writer.append(session, source_id, [event(1, "after")])
    assert texts(store, session.id) == ["before", "after"]
    assert [found.seq for found in store.events(session.id)] == [0, 1]
    assert store.session(session.id).event_count == 2


def test_cursor_and_events_become_visible_together(store_factory: StoreFactory) -> None:
    store, reader = store_factory(), store_factory()
    with store.writing() as writer:
        session_id = add_draft(writer, ONE)
        source_id = writer.source("claude", "/logs/one")
        writer.save_cursor("/logs/one", cursor(source_id, 42, seen=3))
        writer.settle({session_id})
        assert reader.cursor("/logs/one") is None
        assert names(reader) == []
    assert reader.cursor("/logs/one") == cursor(source_id, 42, seen=3)
    assert names(reader) == ["one"]
    assert reader.stamps("claude") == {"/logs/one": ((1, 2, 42, START, START), 1)}
    assert reader.stamps("codex") == {}


def test_a_cursor_moves_and_keeps_its_source(store: Store) -> None:
    with store.writing() as writer:
        source_id = writer.source("claude", "/logs/one")
        assert writer.source("claude", "/logs/one") == source_id
        writer.save_cursor("/logs/one", cursor(source_id, 1))
    with store.writing() as writer:
        writer.save_cursor("/logs/one", cursor(source_id, 2, deep={"list": [1, None, "x"]}))
    assert store.cursor("/logs/one") == cursor(source_id, 2, deep={"list": [1, None, "x"]})
    assert store.info().sources == 1


def test_a_reader_sees_whole_commits_only(store_factory: StoreFactory) -> None:
    store, reader = store_factory(), store_factory()
    capture(store, ONE)
    before = list(reader.dump())
    with store.writing() as writer:
        writer.settle(
            {add_draft(writer, TWO), add_draft(writer, Said("one", "/logs/one", (event(20, "x"),)))}
        )
        assert list(reader.dump()) == before
        assert reader.fsck() == []
    assert list(reader.dump()) == list(store.dump()) != before


def test_a_read_only_store_follows_what_others_commit(store_factory: StoreFactory) -> None:
    store = store_factory()
    capture(store, ONE)
    store.close()
    reader = store_factory(read_only=True)
    assert names(reader) == ["one"]
    writing = store_factory()
    for number in range(40):  # enough to move everything the reader has seen
        said = tuple(turn(1000 * number + i, f"text {number} {i} " * 40) for i in range(20))
        capture(writing, Said(f"more-{number}", f"/logs/{number}", said))
    writing.close()
    assert len(names(reader)) == 41
    assert reader.fsck() == []


def test_a_store_that_was_never_made_is_missing(store_factory: StoreFactory) -> None:
    with pytest.raises(StoreMissing):
        store_factory("nowhere", read_only=True)


def test_a_second_writer_waits_for_the_first(store_factory: StoreFactory) -> None:
    store = store_factory()
    started, failures = threading.Event(), list[BaseException]()

    def write_too() -> None:
        other = store_factory()
        started.set()
        try:
            capture(other, TWO)
        except BaseException as error:  # noqa: BLE001 - handed to the test below
            failures.append(error)
        other.close()

    thread = threading.Thread(target=write_too)
    with store.writing() as writer:
        writer.settle({add_draft(writer, ONE)})
        thread.start()
        assert started.wait(60)
    thread.join(60)
    assert failures == []
    assert names(store) == ["one", "two"]
    assert store.fsck() == []


def test_reading_writes_nothing(store_factory: StoreFactory) -> None:
    store, other = store_factory(), store_factory("other")
    (session_id,) = capture(store, ONE)
    other_id = capture(other, ONE)[0]
    before = list(store.dump())
    (found, *_) = store.events(session_id)
    store.text(found)
    store.search("hello")
    store.fsck()
    store.raw_usage(), store.raw_sessions(), store.oldest_analyzed(), store.crowded(0)
    store.usage("day"), store.projects(), store.unanalyzed(), store.info()
    assert list(store.dump()) == before == list(other.dump())
    assert store.digest(session_id) is other.digest(other_id) is None


def test_values_are_stored_as_they_are_handed_in(store: Store) -> None:
    secret = "AKIA" + "Q" * 16  # redaction happens before the store, never in it
    said = Said("one", "/logs/one", (turn(0, secret, command=secret, files=(secret,)),))
    (session_id,) = capture(store, said)
    (found,) = store.events(session_id, texts=True)
    assert (found.text, found.command, found.files) == (secret, secret, (secret,))


def test_a_digest_in_the_block_that_brought_new_text_marks_the_session_analyzed(
    store: Store,
) -> None:
    (session_id,) = capture(store, ONE)
    digest = analyze(store, session_id)
    evict(store, session_id)
    with store.writing() as writer:
        add_draft(writer, Said("one", "/logs/one", (event(30, "more"),)))
        writer.settle({session_id})
        writer.save_digest(session_id, digest, None)
    assert store.session(session_id).state == "analyzed"


def test_facts_and_usage_alone_make_a_session_too(store: Store) -> None:
    said = Said("bare", "/logs/bare", (), (Fact("cwd", "/work", 0),), (response("r"),))
    (session_id,) = capture(store, said)
    session = store.session(session_id)
    assert (session.cwd, session.event_count, session.cost.output) == ("/work", 0, 10)
    assert list(store.events(session_id)) == []
