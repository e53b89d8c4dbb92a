"""Promise 5: an API response is counted once, with its fullest figures, wherever it is told of."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from session_memory.core.facts import Fact
from session_memory.core.project.identity import Resolution
from session_memory.store.port import Store, UsageDraft, UsageGroup, UsageRow
from session_memory.testing.store_drafts import (
    START,
    Said,
    analyze,
    capture,
    event,
    evict,
    lived,
    number,
    response,
)

DAY = 86_400_000


def said(session: str, opened: int, *usages: UsageDraft, **fields: Any) -> Said:
    """A session with one event of its own and one for each response."""
    own = event(opened, session, fingerprint=number(f"own {session}"))
    told = tuple(
        event(i, fingerprint=number(f"{session} {u.key} {u.output}"), usage_key=u.key)
        for i, u in enumerate(usages)
    )
    facts = (*lived(opened, opened + 1), *fields.pop("facts", ()))
    return Said(session, f"/logs/{session}", (own, *told), facts, usages, **fields)


def counted(store: Store, group: UsageGroup) -> list[UsageRow]:
    """Without the numbers of sessions, which follow the order of arrival."""
    return [msgspec.structs.replace(row, session_id=None) for row in store.usage(group)]


def total(store: Store) -> int:
    return sum(row.cost.output for row in store.usage("session"))


def test_a_streamed_response_keeps_its_last_and_fullest_figures(store: Store) -> None:
    (session_id,) = capture(store, said("one", 0, response("r", 1), response("r", 80)))
    capture(store, said("one", 0, response("r", 40)))
    cost = store.session(session_id).cost
    assert (cost.output, cost.input, cost.usd) == (80, 1, 80 / 1_000_000)
    assert cost.price_table == "test"


def test_two_agents_with_one_native_id_are_two_rows(store: Store) -> None:
    ours = said("same", 0, response("r", 1))
    theirs = Said(
        "same", "/logs/codex", (event(9),), lived(5, 6), (response("q", 2),), flavor="codex"
    )
    numbers = [*capture(store, ours), *capture(store, theirs)]
    rows = store.usage("session")
    assert [(row.session_id, row.group, row.cost.output) for row in rows] == [
        (numbers[0], "same", 1),
        (numbers[1], "same", 2),
    ]
    assert [row.session_id for row in store.usage("flavor")] == [None, None]


@pytest.mark.parametrize("order", [1, -1])
def test_a_response_in_two_sessions_counts_in_the_older_with_the_fullest_figures(
    store: Store, order: int
) -> None:
    older, younger = said("older", 0, response("r", 50)), said("younger", 9, response("r", 70))
    for one in (older, younger)[::order]:
        capture(store, one)
    assert store.find_session("older").cost.output == 70
    assert store.find_session("younger").cost.output == 0
    assert [(row.group, row.responses) for row in store.usage("session")] == [("older", 1)]
    assert store.fsck() == []


@pytest.mark.parametrize("order", [1, -1])
def test_a_response_is_dated_by_its_fullest_figures(store: Store, order: int) -> None:
    capture(store, said("older", 0, response("r", 1, at=START)))
    later = said("older", 0, response("r", 5, at=START + DAY))
    fullest = said("younger", 9, response("r", 70, at=START + 2 * DAY))
    for one in (later, fullest)[::order]:
        capture(store, one)
    assert [(row.group, row.cost.output) for row in store.usage("day")] == [("2026-03-04", 70)]


@pytest.mark.parametrize("order", [1, -1])
def test_a_response_in_a_main_session_does_not_count_for_its_sub_agent(
    store: Store, order: int
) -> None:
    main = said("main", 9, response("r"))
    sub = said("main:sub", 0, response("r", sidechain=True), parent="main")
    for one in (main, sub)[::order]:
        capture(store, one)
    assert store.find_session("main").cost.output == 10
    assert store.find_session("main:sub").cost.output == 0


def test_whose_response_it_is_is_decided_again_when_a_parent_is_named_later(store: Store) -> None:
    capture(store, said("a", 0, response("r")), said("b", 9, response("r")))
    assert store.find_session("a").cost.output == 10
    capture(store, Said("a", "/logs/a", (), (Fact("forked_from", "b", 50),)))
    assert store.find_session("a").cost.output == 0
    assert store.find_session("b").cost.output == 10
    assert total(store) == 10


def test_the_owner_of_a_response_is_decided_again_when_its_opening_arrives_later(
    store: Store,
) -> None:
    capture(store, said("late", 50, response("r")))
    capture(store, Said("early", "/logs/early", (event(1),), (), (response("r"),)))
    assert store.find_session("late").cost.output == 10
    capture(store, Said("early", "/logs/early", (), lived(0, 1)))
    assert (store.find_session("early").cost.output, total(store)) == (10, 10)


fresh = itertools.count()
figures = st.tuples(st.integers(0, 2), st.integers(0, 1), st.none() | st.integers(0, 3))
statements = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from("rs"), figures), min_size=1, max_size=7
)


@settings(
    max_examples=12,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(statements, st.randoms(use_true_random=False))
def test_counted_usage_does_not_depend_on_the_order_of_arrival(
    store_factory: Any, told: list[Any], random: Any
) -> None:
    """Nor on whether sessions were distilled in between, when their sums are kept."""
    pieces = [
        said(name, ord(name), response(key, output, input=fresh, at=at, reasoning=fresh))
        for name, key, (output, fresh, at) in told
    ]
    shuffled = random.sample(pieces, len(pieces))
    stores = [store_factory(f"fresh-{next(fresh)}") for _ in range(2)]
    for store, order in zip(stores, (pieces, shuffled), strict=True):
        for piece in order:
            (session_id,) = capture(store, piece)
            if order is shuffled:
                analyze(store, session_id)
    groups = [[counted(store, group) for group in ("session", "day", "model")] for store in stores]
    assert groups[0] == groups[1]
    canonical = [
        [(one["session"]["external_id"], one["usage"]) for one in s.dump()] for s in stores
    ]
    assert canonical[0] == canonical[1]
    for store in stores:
        store.close()


def test_usage_is_grouped_by_day_project_model_flavour_and_session(store: Store) -> None:
    one, _ = capture(
        store,
        said(
            "one", 0, response("r1", 10, at=START, model="big"), response("r2", 5, at=START + DAY)
        ),
        Said("two", "/logs/two", (), (), (response("r3", 7, at=None, usd=None),), flavor="codex"),
    )
    with store.writing() as writer:
        writer.assign_project(one, "/app", Resolution("app", "/app"), "x")

    def outputs(group: Any) -> dict[str, int]:
        return {row.group: row.cost.output for row in store.usage(group)}

    assert outputs("day") == {"2026-03-02": 10, "2026-03-03": 5, "undated": 7}
    assert outputs("project") == {"app": 15, "no project": 7}
    assert outputs("flavor") == {"claude": 15, "codex": 7}
    assert outputs("session") == {"one": 15, "two": 7}
    (row,) = [row for row in store.usage("flavor") if row.group == "codex"]
    assert (row.responses, row.cost.usd, row.unpriced_tokens) == (1, None, 8)
    (row,) = [row for row in store.usage("project") if row.group == "app"]
    assert len(row.models) == 2
    assert row.unpriced_tokens == 0


def test_kept_sums_follow_every_change_of_the_responses(store: Store) -> None:
    def days() -> list[tuple[str, int, float | None]]:
        return [(row.group, row.cost.output, row.cost.usd) for row in store.usage("day")]

    own = response("r", 10, usd=None, stated_usd=None, price_table=None)
    one, two = capture(store, said("one", 0, own), said("two", 9, response("s", 7)))
    for number_of in (one, two):
        analyze(store, number_of)
    assert days() == [("2026-03-02", 17, 7e-06)]
    capture(store, said("one", 0, response("q", 5, at=START + DAY)))
    assert days() == [("2026-03-02", 17, 7e-06), ("2026-03-03", 5, 5e-06)]
    analyze(store, one)
    with store.writing() as writer:
        writer.reprice(lambda _usage: 1.0, "later")
    assert days() == [("2026-03-02", 17, 1.000007), ("2026-03-03", 5, 5e-06)]
    analyze(store, one)
    store.forget_sessions({one})
    assert days() == [("2026-03-02", 7, 7e-06)]


def test_usage_can_be_asked_for_a_span_of_time(store: Store) -> None:
    capture(store, said("one", 0, response("r1", 10, at=START), response("r2", 5, at=START + DAY)))
    rows = store.usage("model", since=START + 1)
    assert [row.cost.output for row in rows] == [5]
    assert [row.cost.output for row in store.usage("model", until=START + DAY)] == [10]
    assert store.usage("model", since=START + 2 * DAY) == []


def test_usage_survives_eviction_and_is_not_counted_again_by_a_fork(store: Store) -> None:
    (session_id,) = capture(store, said("one", 0, response("r", 10)))
    analyze(store, session_id)
    evict(store, session_id)
    capture(store, said("fork", 9, response("r", 10)))
    assert store.session(session_id).cost.output == 10
    assert total(store) == 10


def test_responses_of_a_session_are_listed_by_their_time(store: Store) -> None:
    late, early = response("a", 10, at=START + 50), response("b", 20, at=START + 40)
    (session_id,) = capture(store, said("s", START, late, early))
    costs = store.response_costs(session_id)
    assert [cost.at for cost in costs] == [START + 40, START + 50]
    (row,) = store.usage("session")
    assert sum(cost.tokens for cost in costs) == row.cost.total_tokens


def test_a_session_of_responses_alone_counts_in_its_days(store: Store) -> None:
    capture(store, Said("tokens only", "/logs/a", usages=(response("r1", 20),)))
    (row,) = store.usage("model", START - 1, START + 1)
    assert row.cost.output == 20
