"""Traces in a store: one for each session, found by name, gone with their session."""

from __future__ import annotations

import pytest

from session_memory.errors import Ambiguous, NotFound
from session_memory.store.memories import Passed, Trace
from session_memory.store.port import Store
from session_memory.testing.store_drafts import Said, capture, turn


def captured(store: Store, *names: str) -> list[int]:
    said = [Said(name, f"/logs/{name}", (turn(at, name),)) for at, name in enumerate(names)]
    return list(capture(store, *said))


def trace(session: int, name: str, root: str = "/work/shop", at: int = 1) -> Trace:
    return Trace(session, name, root, f"# trace of {name}", f"summary of {name}", at)


def test_a_trace_comes_back_as_it_went_in_and_a_later_one_replaces_it(store: Store) -> None:
    (one,) = captured(store, "one")
    store.memories.save(trace(one, "t-one"))
    assert store.memories.find("t-one") == trace(one, "t-one")
    newer = trace(one, "t-one", "/work/moved", at=2)
    store.memories.save(newer)
    assert store.memories.sessions_read() == {one: 2} and store.memories.roots() == {
        "/work/moved": 1
    }
    assert store.memories.of_root("/work/shop") == []
    assert store.memories.of_root("/work/moved") == [newer]
    assert (store.memories.holder("t-one"), store.memories.holder("t")) == (one, None)


def test_the_newest_traces_of_a_place_come_first(store: Store) -> None:
    sessions = captured(store, "a", "b", "c")
    for at, session in zip((5, 9, 7), sessions, strict=True):
        store.memories.save(trace(session, f"t-{at}", at=at))
    names = [found.thread_id for found in store.memories.of_root("/work/shop")]
    assert names == ["t-9", "t-7", "t-5"]
    assert len(store.memories.of_root("/work/shop", 2)) == 2
    assert store.memories.of_root("/work/shop", 0) == []


def test_a_trace_is_found_by_a_prefix_or_number_and_never_by_half_a_pattern(store: Store) -> None:
    one, two = captured(store, "a", "b")
    store.memories.save(trace(one, "abc-1"))
    store.memories.save(trace(two, "abd-2"))
    assert store.memories.find("abc").session_id == one
    assert store.memories.find(str(two)).session_id == two
    with pytest.raises(Ambiguous):
        store.memories.find("ab")
    for nothing in ("%", "a_c", "zzz", "99", "id:1"):
        with pytest.raises(NotFound):
            store.memories.find(nothing)


def test_digits_alone_name_the_trace_of_that_session_number(store: Store) -> None:
    one, two = captured(store, "a", "b")
    store.memories.save(trace(one, "2222"))
    store.memories.save(trace(two, "1111"))
    assert store.memories.find("2").session_id == two
    assert store.memories.find("id:2").session_id == one


def test_a_session_that_left_nothing_is_known_and_is_no_trace(store: Store) -> None:
    one, two = captured(store, "a", "b")
    store.memories.pass_over(Passed(one, "only talk", 5))
    store.memories.pass_over(Passed(two, "only talk", 6))
    assert store.memories.sessions_read() == {one: 5, two: 6} and store.memories.roots() == {}
    assert [passed.session_id for passed in store.memories.passed_over()] == [two, one]
    store.memories.save(trace(one, "t-one", at=8))
    assert [passed.session_id for passed in store.memories.passed_over()] == [two]


def test_a_removed_trace_stays_known_without_a_word_of_it(store: Store) -> None:
    (one,) = captured(store, "a")
    store.memories.save(trace(one, "t-one", at=4))
    assert store.memories.drop(one) and not store.memories.drop(one)
    assert store.memories.sessions_read() == {one: 4}
    store.erase_traces()
    assert store.traces("summary of t-one") == [] and store.traces("t-one") == []


def test_words_are_replaced_in_both_texts(store: Store) -> None:
    one, two = captured(store, "a", "b")
    store.memories.save(trace(one, "t-one"))
    store.memories.save(trace(two, "t-two", "/work/other"))
    changed = store.memories.reword(lambda text: text.replace("t-one", "X"))
    assert changed == {"/work/shop"}
    found = store.memories.find("t-one")
    assert (found.trace_summary, found.memory_summary) == ("# trace of X", "summary of X")


def test_a_forgotten_session_has_no_trace_and_gets_none(store: Store) -> None:
    (one,) = captured(store, "a")
    store.memories.save(trace(one, "t-one"))
    store.forget_sessions({one})
    assert store.memories.sessions_read() == {}
    with pytest.raises(NotFound, match="forgotten"):
        store.memories.save(trace(one, "t-one"))


def test_the_files_that_tell_of_a_session(store: Store) -> None:
    one, two = captured(store, "a", "b")
    assert store.memories.files([one, two]) == {one: ["/logs/a"], two: ["/logs/b"]}
    assert store.memories.files([]) == {}
