"""Search, fsck, dump, backup and the store at a glance."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from session_memory.errors import Refused
from session_memory.store.port import Store
from session_memory.testing.store_drafts import (
    START,
    Said,
    analyze,
    capture,
    event,
    evict,
    lived,
    response,
    texts,
    turn,
)


class StoreFactory(Protocol):
    def __call__(self, name: str = "store", *, read_only: bool = False) -> Store: ...


TALK = Said(
    "talk",
    "/logs/talk",
    (
        turn(0, "how do I bake bread"),
        turn(1, "with flour and water", turn_text="how do I bake bread\nwith flour and water"),
        turn(2, "Éclairs über alles", turn_text="with flour and water\nÉclairs über alles"),
        event(3, "secret output that is not indexed"),
        event(4, "pytest failed", index_text="pytest failed"),
    ),
    lived(0, 4),
    (response("r"),),
)


def found(store: Store, query: str, limit: int = 20) -> list[str]:
    by_id = {one.id: one.text or "" for one in store.events(1, texts=True)}
    return [by_id[event_id] for event_id, _ in store.search(query, limit)]


def test_search_finds_what_fits_best_first(store: Store) -> None:
    capture(store, TALK)
    assert found(store, "bake bread")[0] == "how do I bake bread"
    assert found(store, "baking")[0] == "how do I bake bread"  # by the stem
    assert found(store, "eclairs")[0] == "Éclairs über alles"  # with or without accents
    assert found(store, "pytest") == ["pytest failed"]
    assert found(store, "secret output") == []
    assert found(store, "nowhere") == []
    assert len(found(store, "flour", 1)) == 1
    scores = [score for _, score in store.search("bread flour water")]
    assert scores == sorted(scores, reverse=True)


def test_a_turn_is_found_by_the_words_before_it(store: Store) -> None:
    capture(store, TALK)
    assert "with flour and water" in found(store, "bake flour")


@pytest.mark.parametrize(
    "query", ["", "   ", '"', "*", "AND", "NEAR(", "a:b", "-x", "\0", "'", "_"]
)
def test_no_query_is_an_error(store: Store, query: str) -> None:
    capture(store, TALK)
    assert isinstance(store.search(query), list)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text_can_be_searched_for(store: Store, query: str) -> None:
    if not store.info().sessions:
        capture(store, TALK)
    assert len(store.search(query, 3)) <= 3


def test_the_dump_leaves_out_what_depends_on_the_way_in(store_factory: StoreFactory) -> None:
    one, two = store_factory("one"), store_factory("two")
    other = Said("other", "/logs/other", (event(9, "x"),))
    capture(one, TALK, other)
    capture(two, other)
    capture(two, TALK)
    assert list(one.dump()) == list(two.dump())
    assert [entry["session"]["external_id"] for entry in one.dump()] == ["other", "talk"]
    analyze(two, two.find_session("talk").id)
    assert list(one.dump()) != list(two.dump())


def test_a_backup_is_the_same_store(store_factory: StoreFactory, tmp_path: Path) -> None:
    store = store_factory()
    (session_id,) = capture(store, TALK)
    analyze(store, session_id)
    written = store.backup(str(tmp_path / "copy"))
    capture(store, Said("talk", "/logs/talk", (event(99, "after the backup"),)))
    copy = store_factory("copy")
    assert copy.fsck() == []
    assert texts(copy, session_id) == texts(store, session_id)[:-1]
    assert (copy.fingerprint_key, copy.tag_key) == (store.fingerprint_key, store.tag_key)
    assert copy.digest(session_id) == store.digest(session_id)
    on_disk = [path for path in (tmp_path / "copy").rglob("*") if path.is_file()]
    assert 0 < written <= sum(path.stat().st_size for path in on_disk)


def test_a_backup_never_goes_into_a_directory_in_use(store: Store, tmp_path: Path) -> None:
    capture(store, TALK)
    target = tmp_path / "full"
    target.mkdir()
    (target / "file").write_text("mine", encoding="utf-8")
    with pytest.raises(Refused):
        store.backup(str(target))
    assert [path.name for path in target.iterdir()] == ["file"]


def test_an_intact_store_has_no_findings(store_factory: StoreFactory) -> None:
    store = store_factory()
    assert store.fsck() == []
    one, two = capture(store, TALK, Said("b", "/b", (event(0, "x" * 300_000),)))
    analyze(store, one)
    capture(store, Said("talk", "/logs/talk", (turn(50, "more"),)))
    store.compact(one)
    evict(store, two, data_loss=True)
    assert store.fsck() == []
    assert store_factory(read_only=True).fsck() == []


def test_the_store_at_a_glance(store: Store) -> None:
    empty = store.info()
    assert (empty.sessions, empty.events, empty.segment_bytes) == (0, 0, 0)
    assert empty.last_event_at is None
    session_id, _ = capture(store, TALK, Said("b", "/b", (event(0, "yy"),), flavor="codex"))
    analyze(store, session_id)
    info = store.info()
    assert (info.sessions, info.events, info.sources, info.unanalyzed) == (2, 6, 2, 1)
    assert info.per_flavor == {"claude": 1, "codex": 1}
    assert info.last_event_at == START + 4
    assert info.text_bytes == 2 + sum(len(draft.body) for draft in TALK.events)
    assert info.database_bytes > 0
    assert info.schema_version >= 1


def test_every_word_present_outweighs_one_of_them_often(store: Store) -> None:
    both = "the gasket and the flange were both replaced"
    texts = ["gasket gasket gasket", both, "flange number 0", "flange number 1"]
    turns = tuple(turn(place, text) for place, text in enumerate(texts))
    capture(store, Said("parts", "/logs/parts", turns, lived(0, len(texts))))
    assert found(store, "gasket flange")[0] == both


def test_a_whole_store_needs_no_repair(store: Store) -> None:
    capture(store, TALK)
    assert store.quick_check() == "ok"
    for layer in ("orphans", "segments", "counts", "usage", "index"):
        assert store.repair(layer, dry_run=True) == []
