"""One list: what fits best comes first, and no session fills it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from tests.recall.store_builder import SHOP, Memory, observed

from session_memory.errors import UsageError
from session_memory.recall.requests import SearchRequest
from session_memory.recall.search import search
from session_memory.store.search_rank import Hit, varied, with_coverage
from session_memory.testing.store_drafts import Said, capture, event, turn


def said(memory: Memory, name: str, *texts: str) -> int:
    """A session with these turns, in the project."""
    turns = tuple(turn(number, text) for number, text in enumerate(texts))
    (session,) = capture(memory.store, Said(name, f"/logs/{name}", turns))
    with memory.store.writing() as writer:
        writer.assign_project(session, "/work/shop", SHOP, "general")
    return session


@pytest.mark.rows("SRC-11")
def test_an_event_that_fits_better_stands_before_an_observation(memory: Memory) -> None:
    memory.session("a", ("decision", "Look at the pelican some day"))
    failed = event(
        0, "pelican: command not found", kind="tool_result", origin="tool", is_error=True,
        index_text="pelican: command not found",
    )  # fmt: skip
    capture(memory.store, Said("e", "/logs/e", (failed,)))
    answer = search(memory.context, SearchRequest("pelican command not found"))
    assert [item.memory_kind for item in answer.items] == ["event", "observation"]
    assert [item.rank for item in answer.items] == [1, 2]
    assert answer.items[0].is_error is True


@pytest.mark.rows("SRC-11")
def test_an_error_is_found_before_talk_about_it(memory: Memory) -> None:
    said(memory, "talk", "the pelican is a bird", "a command is an order")
    failed = event(
        9, "pelican: command not found", kind="tool_result", origin="tool", is_error=True,
        index_text="pelican: command not found",
    )  # fmt: skip
    capture(memory.store, Said("e", "/logs/e", (failed,)))
    first, *_ = search(memory.context, SearchRequest("pelican: command not found")).items
    assert first.type == "tool_result"


@pytest.mark.rows("SRC-11")
def test_an_event_and_its_observation_are_one_item(memory: Memory) -> None:
    session = said(memory, "a", "we keep the heron cache for good")
    (number,) = [one.id for one in memory.store.events(session)]
    note = replace(observed(session, "decision", "Keep the heron cache"), event=number)
    memory.keep(session, [note])
    (item,) = search(memory.context, SearchRequest("heron cache", "shop")).items
    assert (item.type, item.turn_id) == ("decision", number)


@pytest.mark.rows("SRC-11")
def test_one_session_does_not_fill_the_page_while_others_fit(memory: Memory) -> None:
    many = said(memory, "many", *(f"heron cache number {n} of the heron" for n in range(30)))
    other = said(memory, "other", "once there was a heron somewhere")
    found = search(memory.context, SearchRequest("heron cache", "shop")).items
    shown = [item.session_id for item in found]
    assert shown[:8].count(many) == 7 and other in shown[:8]
    alone = search(memory.context, SearchRequest("heron cache", "shop", many)).items
    assert len(alone) == 10


def test_varying_loses_nothing_and_keeps_the_order_of_a_session() -> None:
    hits = [Hit(number % 2 if number > 20 else 0, 1.0, number) for number in range(60)]
    order = varied(hits)
    assert sorted(hit.event or 0 for hit in order) == list(range(60))
    for session in (0, 1):
        own = [hit.event for hit in order if hit.session == session]
        assert own == sorted(own, key=lambda event: event or 0)


@pytest.mark.rows("SRC-11")
def test_the_last_two_of_a_page_are_of_sessions_that_it_does_not_show_yet() -> None:
    known = [Hit(1 + number % 2, 2.0, number) for number in range(30)]
    others = [Hit(9, 0.1, 100), Hit(8, 0.2, 99), Hit(8, 0.1, 101)]
    page = varied([*known, *others])[:10]
    assert [hit.session for hit in page[8:]] == [9, 8]
    assert {hit.session for hit in page[:8]} == {1, 2}


@pytest.mark.rows("SRC-11")
def test_pages_follow_each_other_without_repeats(memory: Memory) -> None:
    said(memory, "a", *(f"heron number {n} " + "x" * n for n in range(23)))
    seen: list[str] = []
    cursor: str | None = None
    for _ in range(5):
        answer = search(memory.context, SearchRequest("heron", "shop", limit=5, cursor=cursor))
        seen += [item.id for item in answer.items]
        cursor = answer.next_cursor if isinstance(answer.next_cursor, str) else None
        if cursor is None:
            break
    assert len(seen) == len(set(seen)) == 23
    with pytest.raises(UsageError, match="cursor"):
        search(memory.context, SearchRequest("heron", cursor="-1"))


@pytest.mark.rows("SRC-03")
def test_any_number_of_repeats_leaves_room_for_the_rest(memory: Memory) -> None:
    said(memory, "a", *(["heron heron heron"] * 200))
    said(memory, "b", "one heron", "another heron over there")
    found = search(memory.context, SearchRequest("heron", "shop", limit=5)).items
    assert len(found) == 3


@pytest.mark.rows("SRC-11")
def test_a_turn_that_asks_stands_below_one_that_tells(memory: Memory) -> None:
    said(memory, "asked", "Where does the pelican keep its settings?")
    said(memory, "told", "The pelican keeps its settings in the loft.")
    found = search(memory.context, SearchRequest("pelican keep settings", limit=50)).items
    assert [item.summary[:5] for item in found[:2]] == ["The p", "Where"]
    pages = [
        search(memory.context, SearchRequest("pelican keep settings", limit=1, cursor=cursor)).items
        for cursor in ("0", "1")
    ]
    assert [item.turn_id for page in pages for item in page] == [one.turn_id for one in found[:2]]


def test_a_row_that_holds_every_term_is_lifted_over_one_that_says_a_single_term_often() -> None:
    often, whole = 1, 2
    scores = {often: 1.0, whole: 0.9}
    assert [row.id for row in with_coverage(scores, (), {})] == [often, whole]
    assert [row.id for row in with_coverage(scores, (whole,), {})] == [whole, often]
