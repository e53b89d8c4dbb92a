"""Answers stay below what clients cut."""

from __future__ import annotations

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.mcp.clients import LocalServer, text_of
from tests.mcp.conftest import Known
from tests.mcp.test_render import Json, every_call

from session_memory.mcp.size_limit import fit
from session_memory.recall.requests import ANSWER_BYTES

LIMIT = 12_000


def test_answers_stay_under_what_clients_cut(server: LocalServer, known: Known) -> None:
    long = "a rather long sentence about \u00e9t\u00e9, tables and \U0001f4c8 that goes on and on "
    for number in range(40):
        known.memory.session(
            f"big-{number}-{'x' * 60}",
            ("user_request", f"{number} {long * 6}"),
            *[("pending_item", f"totals {number}.{at} {long * 3}") for at in range(12)],
            *[("blocker", f"blocked {number}.{at} {long * 3}") for at in range(6)],
            cwd=f"/work/shop/{'deep/' * 12}lane{number}",
        )
    for name, arguments in every_call(known):
        found = server.call(name, **arguments)
        assert found["isError"] is False, name
        assert len(msgspec.json.encode(found["structuredContent"])) <= LIMIT, name
        verbose = server.call(name, response_mode="complete", **arguments)
        assert len(text_of(verbose).encode()) <= LIMIT + 1_500, name
    listed = server.call("mem_session_list", project_key="shop")["structuredContent"]
    assert listed["count"] == len(listed["items"])
    assert listed["count"] + listed["left_out"]["items"] == 20
    assert listed["items_share"]["runtime"] == "claude"
    assert not set(listed["items_share"]) & set(listed["items"][0])
    assert "left_out=items:" in text_of(server.call("mem_session_list", project_key="shop"))


Lists = st.dictionaries(
    st.sampled_from(("items", "events", "lanes", "inner")),
    st.lists(st.one_of(st.integers(), st.text(max_size=300), st.none()), max_size=60),
    max_size=4,
)


@settings(max_examples=60)
@given(Lists, st.integers(200, 3_000))
def test_what_does_not_fit_is_cut_from_the_end_and_counted(lists: Json, room: int) -> None:
    answer: Json = {**lists, "count": len(lists.get("items", ()))}
    before = msgspec.json.encode(answer)
    small = fit(answer, room)
    assert msgspec.json.encode(answer) == before
    assert len(before) > room or small == answer
    assert len(msgspec.json.encode(small)) <= max(room, 250)
    gone = small.get("left_out", {})
    for name, kept in lists.items():
        assert small[name] == kept[: len(kept) - gone.get(name, 0)]


def test_the_room_leaves_a_margin_below_the_limit() -> None:
    assert ANSWER_BYTES < LIMIT
