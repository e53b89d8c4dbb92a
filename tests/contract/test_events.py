"""Promises 3 and 4: texts come back as they were, in source order, whatever way they came in."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from session_memory.store.port import EventDraft, Holder, Store
from session_memory.testing.store_drafts import (
    START,
    Said,
    add_draft,
    capture,
    event,
    number,
    response,
    texts,
    turn,
)

fast = settings(
    max_examples=25,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
HARD_TEXTS = (
    "",
    "\0",
    "a\0b\0",
    "\n",
    "\r\n\r\n",
    "\ufeff",
    "\u202eright to left\u202c \u2066isolate\u2069",
    "👩‍👩‍👧‍👦 🏳️‍🌈",
    "e\u0301 é ﬀ ß İ",
    "\U0010ffff",
    "'; DROP TABLE event; --",
    '"quoted" AND OR NOT NEAR(x) *',
    "[REDACTED_SECRET:00ff]",
    "x" * 128 * 1024,
    "é" * 200_000,
)
texts_of_any_kind = st.one_of(
    st.sampled_from(HARD_TEXTS), st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
)
fresh = itertools.count()  # all examples of a test share one store
some_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def said(session: str, path: str, *events: EventDraft) -> Said:
    return Said(session, path, events)


@fast
@given(st.lists(texts_of_any_kind, max_size=6))
def test_texts_come_back_byte_for_byte(store: Store, bodies: list[str]) -> None:
    name = f"s{next(fresh)}"
    drafts = [turn(i, body, fingerprint=number(f"{name} {i}")) for i, body in enumerate(bodies)]
    (session_id,) = capture(store, said(name, f"/logs/{name}", *drafts))
    assert texts(store, session_id) == bodies
    assert [store.text(found) for found in store.events(session_id)] == bodies


@fast
@given(
    st.fixed_dictionaries(
        {
            "kind": st.sampled_from(["tool_call", "tool_result", "error", "other", "system"]),
            "origin": st.sampled_from(["user", "harness", "tool", "web", "agent", "subagent"]),
            "at": st.none() | st.integers(0, 2**53),
            "tool": st.none() | some_text,
            "tool_class": st.none() | st.sampled_from(["read", "edit", "shell", "other"]),
            "call_id": st.none() | some_text,
            "is_error": st.booleans(),
            "exit_code": st.none() | st.integers(-(2**31), 2**31),
            "files": st.lists(some_text, max_size=3).map(tuple),
            "command": st.none() | some_text,
            "label": st.none() | some_text,
            "fingerprint": st.integers(-(2**63), 2**63 - 1),
        }
    )
)
def test_every_field_of_an_event_comes_back(store: Store, fields: dict[str, Any]) -> None:
    draft = event(7, "body", **fields)
    name = f"s{next(fresh)}"
    (session_id,) = capture(store, said(name, f"/logs/{name}", draft))
    (found,) = store.events(session_id)
    stored, given_ = msgspec.structs.asdict(found), msgspec.structs.asdict(draft)
    same = set(stored) & set(given_)
    assert same >= set(fields)
    assert {key: stored[key] for key in same} == {key: given_[key] for key in same}
    assert found.source_ref is not None
    assert (found.session_id, found.seq, found.source_ref[1]) == (session_id, 0, 7)


def test_equal_texts_in_two_commits_of_a_session_stay_two(store: Store) -> None:
    (session_id,) = capture(store, said("one", "/a", event(0, "yes")))
    capture(store, said("one", "/a", event(5, "yes")))
    assert texts(store, session_id) == ["yes", "yes"]
    assert store.fsck() == []


def test_texts_are_read_only_when_asked_for(store: Store) -> None:
    (session_id,) = capture(store, said("one", "/a", event(0, "yes"), event(1)))
    assert [found.text for found in store.events(session_id)] == [None, None]
    assert texts(store, session_id) == ["yes", ""]


def test_events_come_by_file_then_by_place(store: Store) -> None:
    capture(store, said("one", "/b", event(0, "3"), event(1, "4")))
    (session_id,) = capture(store, said("one", "/a", event(9, "2"), event(5, "1")))
    assert texts(store, session_id) == ["1", "2", "3", "4"]


@pytest.mark.rows("STO-06")
def test_events_found_later_get_numbers_behind_those_already_there(store: Store) -> None:
    first = said("one", "/b", event(10, "x"), event(20, "y"))
    second = said("one", "/a", event(10, "x"), event(15, "new"), event(1, "newer"))
    (session_id,) = capture(store, first)
    taken = {found.seq for found in store.events(session_id)}
    capture(store, second)
    capture(store, said("one", "/c", event(30, "last")))
    by_text = {found.text: found.seq for found in store.events(session_id, texts=True)}
    assert len(set(by_text.values())) == len(by_text) == 5
    assert min(by_text["new"], by_text["newer"]) > max(taken)
    assert by_text["last"] > max(by_text["new"], by_text["newer"])


FILES = (
    said("one", "/a", event(0, "x"), event(1, "y")),
    said("one", "/b", event(5, "y", at=START + 1), event(6, "z")),
    said("two", "/b", event(7, "w")),
)


@pytest.mark.rows("STO-07")
@pytest.mark.parametrize("order", list(itertools.permutations(FILES)))
def test_merging_in_any_order_and_again_gives_the_same(
    store_factory: Any, order: tuple[Said, ...]
) -> None:
    once, often = store_factory("once"), store_factory("often")
    capture(once, *FILES)
    for _ in range(2):
        for one in order:
            capture(often, one)
    assert list(often.dump()) == list(once.dump())
    assert often.info().events == once.info().events == 4
    assert often.fsck() == []


def test_holders_name_every_session_that_has_an_event(store: Store) -> None:
    one, two = capture(
        store,
        said("one", "/a", event(3, "shared"), event(4)),
        said("two", "/b", event(3, "shared")),
    )
    shared, unknown = event(3, "shared").fingerprint, number("unknown")
    with store.writing() as writer:
        held = writer.holders([shared, unknown])
        sources = {"/a": writer.source("claude", "/a"), "/b": writer.source("claude", "/b")}
    ids = {found.fingerprint: found.id for found in store.events(one)}
    other = next(iter(store.events(two)))
    assert set(held) == {shared}
    assert sorted(held[shared], key=lambda holder: holder.session_id) == [
        Holder(one, ids[shared], sources["/a"], 3),
        Holder(two, other.id, sources["/b"], 3),
    ]


def test_a_copy_in_a_file_that_ranks_first_takes_the_event_over(store: Store) -> None:
    (session_id,) = capture(store, said("one", "/b", event(5, "x")))
    capture(store, said("one", "/a", event(5, "x")))
    (found,) = store.events(session_id)
    with store.writing() as writer:
        source_id = writer.source("claude", "/a")
    assert found.source_ref == (source_id, 5)
    assert store.sharing(source_id) is True


def test_a_file_alone_with_its_sessions_shares_nothing(store: Store) -> None:
    capture(store, said("one", "/a", event(0)), said("two", "/b", event(1)))
    with store.writing() as writer:
        source_id = writer.source("claude", "/a")
    assert store.sharing(source_id) is False


def retire(store: Store, path: str, *keep: EventDraft, delete: bool = False) -> int:
    """Read a file again that now holds only `keep`."""
    with store.writing() as writer:
        source_id = writer.source("claude", path)
        held = writer.holders([draft.fingerprint for draft in keep])
        seen = {h.event_id for holders in held.values() for h in holders if h.event_id is not None}
        return writer.retire(source_id, seen, delete=delete)


def test_what_a_rewritten_file_no_longer_holds_is_kept_as_history(store: Store) -> None:
    (session_id,) = capture(store, said("one", "/a", event(0, "kept"), turn(1, "undone")))
    assert retire(store, "/a", event(0, "kept")) == 1
    assert texts(store, session_id) == ["kept"]
    assert [found.text for found in store.superseded_events(session_id)] == ["undone"]
    assert store.info().superseded_events == 1
    assert retire(store, "/a", event(0, "kept")) == 0


def test_history_comes_back_when_its_file_holds_it_again(store: Store) -> None:
    whole = said("one", "/a", event(0, "kept"), event(1, "undone"))
    (session_id,) = capture(store, whole)
    retire(store, "/a", event(0, "kept"))
    capture(store, whole)
    assert texts(store, session_id) == ["kept", "undone"]
    assert list(store.superseded_events(session_id)) == []


def test_what_a_better_parser_no_longer_makes_is_deleted(store: Store) -> None:
    (session_id,) = capture(store, said("one", "/a", event(0, "kept"), turn(1, "noise")))
    assert retire(store, "/a", event(0, "kept"), delete=True) == 1
    assert texts(store, session_id) == ["kept"]
    assert list(store.superseded_events(session_id)) == []
    assert store.session(session_id).event_count == 1
    assert store.search("noise") == []
    assert store.fsck() == []


@pytest.mark.parametrize("delete", [False, True])
def test_an_event_that_another_file_holds_too_survives_in_that_one(
    store: Store, delete: bool
) -> None:
    (session_id,) = capture(store, said("one", "/a", event(0, "x"), event(1, "y")))
    capture(store, said("one", "/b", event(5, "y", at=START + 1)))
    assert retire(store, "/a", event(0, "x"), delete=delete) == 0
    assert texts(store, session_id) == ["x", "y"]
    assert retire(store, "/b", delete=delete) == 1
    assert texts(store, session_id) == ["x"]
    assert store.fsck() == []


def test_a_call_and_its_result_are_paired(store: Store) -> None:
    call = event(0, kind="tool_call", call_id="c1")
    result = event(1, kind="tool_result", call_id="c1")
    alone = event(2, kind="tool_call", call_id="c2")
    (session_id,) = capture(store, said("one", "/a", call, result, alone))
    assert [found.paired for found in store.events(session_id)] == [True, True, False]


def test_the_first_event_of_a_response_carries_its_tokens(store: Store) -> None:
    usage = response("r", 70)
    first, second = event(0, usage_key=usage.key), event(1, usage_key=usage.key)
    (session_id,) = capture(store, Said("one", "/a", (first, second, event(2)), (), (usage,)))
    costs = [found.tokens for found in store.events(session_id)]
    assert costs[0] is not None
    assert (costs[0].output, costs[1:]) == (70, [None, None])


def test_the_last_turns_are_the_latest_dialogue(store: Store) -> None:
    capture(store, said("one", "/a", turn(0, "first"), event(1, "noise"), turn(2, "second")))
    capture(store, said("one", "/a", turn(3, "third")))
    with store.writing() as writer:
        session = writer.session("claude", "one", None)
        assert writer.last_turns(session, 2) == ["second", "third"]
        assert writer.last_turns(session, 9) == ["first", "second", "third"]
        assert writer.last_turns(writer.session("claude", "new", None), 9) == []


def test_a_writer_sees_what_it_wrote_in_the_same_block(store: Store) -> None:
    with store.writing() as writer:
        session_id = add_draft(writer, said("one", "/a", event(0, "x")))
        (holder,) = writer.holders([event(0, "x").fingerprint])[event(0, "x").fingerprint]
        assert holder.session_id == session_id
        again = writer.session("claude", "one", None)
        assert (again.id, again.created) == (session_id, True)
    with store.writing() as writer:
        assert writer.session("claude", "one", None).created is False


def test_places_of_events_stand_in_source_order_and_lead_to_the_events(store: Store) -> None:
    second = said("s", "/logs/b", turn(0, "third", fingerprint=3), turn(5, "fourth", fingerprint=4))
    first = said("s", "/logs/a", turn(0, "first", fingerprint=1), turn(7, "second", fingerprint=2))
    (session_id, *_) = capture(store, second, first)
    places = store.event_places(session_id)
    assert [place.id for place in places] == [each.id for each in store.events(session_id)]
    assert [place.kind for place in places] == [each.kind for each in store.events(session_id)]
    wanted = [places[2].id, places[0].id, 12345]
    found = store.events_at(wanted)
    assert [store.text(each) for each in found] == ["third", "first"]
