"""Forgetting: what goes, what marks stay, and what no log brings back."""

from __future__ import annotations

import msgspec

from session_memory.core.facts import Fact
from session_memory.core.rescan import RescanMark
from session_memory.core.schema import SessionEvent
from session_memory.store.port import SessionQuery, Store
from session_memory.testing.store_drafts import (
    Said,
    capture,
    cursor,
    event,
    lived,
    number,
    texts,
    turn,
)

WORD = "zebrawood"
SHOP = Said("shop", "/logs/shop.jsonl", (turn(1, f"buy {WORD}"), event(2, "bought")), lived(1, 2))
CHILD = Said("child", "/logs/child.jsonl", (event(3, "look it up"),), lived(3, 3), parent="shop")


def native_ids(store: Store) -> set[str]:
    return {session.external_id for session in store.sessions(SessionQuery())}


def test_a_session_is_forgotten_with_its_sub_agents_and_stays_out(store: Store) -> None:
    shop, child = capture(store, SHOP, CHILD)
    assert store.with_subagents({shop}) == {shop, child}
    assert store.log_paths({shop, child}) == ["/logs/child.jsonl", "/logs/shop.jsonl"]
    assert not store.is_forgotten("claude", "shop")
    store.forget_sessions({shop})
    store.erase_traces()
    assert (native_ids(store), store.traces(WORD)) == (set(), [])
    assert store.is_forgotten("claude", "shop") and store.is_forgotten("claude", "child")
    assert not store.is_forgotten("codex", "shop")
    with store.writing() as writer:
        assert writer.is_forgotten("claude", "shop")
        assert writer.holders([SHOP.events[0].fingerprint])[SHOP.events[0].fingerprint][0].forgotten


def test_copies_in_a_fork_go_and_the_fork_is_named(store: Store) -> None:
    fork = Said("fork", "/logs/fork.jsonl", (*SHOP.events, event(9, "own")), lived(8, 9))
    shop, forked = capture(store, SHOP, fork)
    assert store.forget_sessions({shop}) == {forked}
    assert texts(store, forked) == ["own"]


def test_single_events_are_forgotten(store: Store) -> None:
    (shop,) = capture(store, SHOP)
    (hit,) = store.find_text(WORD.upper(), ignore_case=True)
    assert (hit.session_id, store.find_text(WORD.upper())) == (shop, [])
    assert store.forget_events(shop, hit.fingerprints) == 1
    assert texts(store, shop) == ["bought"]
    assert store.exchange.forgotten() == hit.fingerprints
    assert not store.is_forgotten("claude", "shop")


def test_events_are_rewritten_or_dropped(store: Store) -> None:
    (shop,) = capture(store, SHOP)

    def edit(found: SessionEvent) -> SessionEvent | None:
        if found.text == "bought":
            return None
        return msgspec.structs.replace(found, text=(found.text or "").replace(WORD, "oak"))

    assert store.rewrite(shop, edit) == 2
    assert texts(store, shop) == ["buy oak"]
    assert store.search(WORD) == []


def test_words_are_replaced_in_facts_and_a_forgotten_fact_stays_out(store: Store) -> None:
    titled = msgspec.structs.replace(
        SHOP, events=(event(1, "hello"),), facts=(*lived(1, 2), Fact("title.custom", WORD, 1))
    )
    (shop,) = capture(store, titled)

    def words(data: bytes) -> bytes:
        return data.replace(WORD.encode(), b"oak")

    store.forget_facts(words)
    assert store.holding_words(words) == {shop}
    assert store.replace_words(words) == {shop}
    assert store.holding_words(words) == set()
    assert store.session(shop).title == "oak"
    capture(store, titled)
    assert store.session(shop).title == "oak"


def test_a_file_of_forgotten_sessions_is_known_until_it_changes(store: Store) -> None:
    (shop,) = capture(store, SHOP)
    with store.writing() as writer:
        source_id = writer.source("claude", SHOP.path)
        writer.save_cursor(SHOP.path, cursor(source_id, 100))
    store.forget_sessions({shop})
    stamp = cursor(source_id, 100).stamp
    assert store.is_forgotten_source(SHOP.path, stamp)
    assert not store.is_forgotten_source(SHOP.path, cursor(source_id, 101).stamp)
    with store.writing() as writer:
        source_id = writer.source("claude", "/logs/again.jsonl")
        writer.leave_source(source_id, "/logs/again.jsonl", stamp)
    assert store.is_forgotten_source("/logs/again.jsonl", stamp)
    assert store.stamps("claude") == {}


def test_marks_of_a_store_take_effect_once_they_are_applied(store: Store) -> None:
    store.apply_marks()
    assert not store.has_new_marks()
    (shop,) = capture(store, SHOP)
    store.forget_sessions({shop})
    forgotten = store.marks().under(store.fingerprint_key)
    assert SHOP.events[0].fingerprint in forgotten.events and len(forgotten.sessions) == 1
    assert not store.has_new_marks()
    assert store.apply_marks().sessions == ()
    assert store.forgotten_elsewhere() == ()
    assert number("another") not in forgotten.events


def test_a_rescan_is_noted(store: Store) -> None:
    assert (store.last_session(), store.rescan_mark()) == (0, None)
    (shop,) = capture(store, SHOP)
    mark = RescanMark(rules="a", done=0, last=store.last_session())
    store.mark_rescan(mark)
    assert (store.rescan_mark(), mark.last) == (mark, shop)
