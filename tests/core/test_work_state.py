"""The state of the work follows from observations: newest wins, and only matches close work."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace
from tests.distil.observing import noted

from session_memory.core.schema import EXCLUDED_STATUSES
from session_memory.core.work_state import OperationalState, StateLimits, derive_state, notes
from session_memory.recall.scope_guard import guardrails

TOPICS = ("parser", "reader", "writer", "viewer", "search", "index", "budget", "digest", "hooks")


def shown(state: OperationalState) -> list[str]:
    return [one.text for one in state.pending]


@pytest.mark.rows("OBS-02")
@pytest.mark.parametrize("status", sorted(EXCLUDED_STATUSES))
def test_excluded_statuses_are_no_notes_and_no_part_of_the_state(status: str) -> None:
    assert {"low_value", "retired", "superseded"} == EXCLUDED_STATUSES
    hidden = [noted("pending_item", "write the docs", status=status)]
    assert notes(hidden) == []
    assert derive_state(hidden) == OperationalState()
    kept = [noted("pending_item", "a", status="active"), noted("decision", "b", status="promoted")]
    assert notes(kept) == kept


@pytest.mark.rows("OBS-06")
@pytest.mark.parametrize(
    ("pending", "completed"),
    [
        ("Write the docs", "write the docs."),
        ("migrate the users table", "Migrate the users table to v2"),
        ("Add retry with backoff to uploader", "Added: uploader, add retry with backoff"),
    ],
)
def test_an_item_is_resolved_by_the_same_words_containment_or_the_same_terms(
    pending: str, completed: str
) -> None:
    both = [noted("pending_item", pending, 1), noted("completed_item", completed, 2)]
    assert derive_state(both).pending == ()
    dod = [noted("session_dod", pending, 1), noted("completed_item", completed, 2)]
    assert derive_state(dod).dod_open == ()


@pytest.mark.rows("OBS-06")
@pytest.mark.parametrize(
    ("pending", "completed"),
    [
        ("Add tests for the payment service", "add tests"),
        ("fix tests", "fix flaky tests of the payment module"),
        ("docs", "write docs for the new reader"),
        ("Run phase 2 of the migration", "Run phase 1 of the migration"),
        ("write parser tests and documentation for all flavours", "write parser tests"),
        ("deploy the service to staging", "did not deploy the service to staging"),
        ("update the readme", "done"),
        ("…", "!"),
    ],
)
def test_a_short_or_different_text_never_resolves_a_stranger(pending: str, completed: str) -> None:
    both = [noted("pending_item", pending, 1), noted("completed_item", completed, 2)]
    assert shown(derive_state(both)) == [pending]


@pytest.mark.rows("OBS-08")
def test_the_newest_objective_decisions_and_items_are_shown() -> None:
    two = [noted("objective", "first goal", 1), noted("objective", "second goal", 2)]
    for given_order in (two, two[::-1]):
        state = derive_state(given_order)
        assert state.objective is not None
        assert state.objective.text == "second goal"
        assert [one.text for one in state.objective_candidates] == ["second goal", "first goal"]
    many = [
        noted(kind, f"{kind} number {at}", at)
        for at in range(100)
        for kind in ("objective", "decision", "pending_item", "constraint")
    ]
    random.Random(3).shuffle(many)
    state = derive_state(many, limits=StateLimits(pending=3, decisions=2, constraints=2))
    assert shown(state) == [f"pending_item number {at}" for at in (99, 98, 97)]
    assert [one.text for one in state.decisions] == ["decision number 99", "decision number 98"]
    assert [one.text for one in state.constraints] == [
        "constraint number 99",
        "constraint number 98",
    ]
    assert state.objective is not None
    assert state.objective.text == "objective number 99"


@pytest.mark.rows("OBS-09")
def test_limits_apply_after_resolution_and_change_no_count() -> None:
    pending = [noted("pending_item", f"finish the {name} part {n}", n) for n, name in numbered(30)]
    done = [noted("completed_item", one.text, 100 + n) for n, one in enumerate(pending[:25])]
    state = derive_state(pending + done, limits=StateLimits(pending=5, completed=2))
    assert sorted(shown(state)) == sorted(one.text for one in pending[25:])
    assert (state.pending_count, state.completed_count) == (5, 25)
    assert not state.done
    few = derive_state(pending, limits=StateLimits(pending=6))
    assert (len(few.pending), few.pending_count) == (6, 30)
    assert derive_state(pending + done, limits=StateLimits(pending=1)).pending_count == 5


def numbered(count: int) -> list[tuple[int, str]]:
    return [(n, TOPICS[n % len(TOPICS)]) for n in range(count)]


@pytest.mark.rows("OBS-10")
def test_work_taken_up_again_after_its_completion_stays_open() -> None:
    done, again = noted("completed_item", "write docs", 1), noted("pending_item", "Write docs", 2)
    assert shown(derive_state([again, done])) == ["Write docs"]
    first = noted("pending_item", "write docs", 0)
    assert derive_state([first, done]).pending == ()
    assert shown(derive_state([first, done, again])) == ["Write docs"]
    finished = noted("completed_item", "write docs!", 3)
    assert derive_state([first, done, again, finished]).done


@pytest.mark.rows("OBS-11")
def test_a_blocker_is_cleared_by_a_later_completion_and_not_by_an_earlier_one() -> None:
    blocker = noted("blocker", "no access to staging", 1)
    cleared = derive_state([blocker, noted("completed_item", "No access to staging", 2)])
    assert (cleared.blockers, cleared.blocker_count) == ((), 0)
    assert cleared.cleared_blockers == (blocker,)
    still = derive_state([noted("completed_item", "no access to staging", 0), blocker])
    assert still.blockers == (blocker,)


def test_a_command_that_fails_again_is_one_blocker() -> None:
    old = noted("blocker", "`pytest` fails: 3 failed", 1)
    new = noted("blocker", "`pytest` fails: 1 failed", 2)
    assert derive_state([new, old]).blockers == (new,)


def test_without_an_objective_the_latest_requests_are_candidates() -> None:
    asked = [noted("user_request", f"do {name}", at) for at, name in numbered(3)]
    state = derive_state(asked)
    assert state.objective is None
    assert state.objective_candidates == tuple(asked[::-1])
    assert state.request == asked[-1]


def test_next_actions_are_what_blocks_and_then_the_plan_in_its_order() -> None:
    items = [noted("pending_item", f"step {n} of {name}", n) for n, name in numbered(3)]
    state = derive_state([*items, noted("blocker", "no key", 9)])
    assert state.next_actions == ("Unblock: no key", *(one.text for one in items))


@pytest.mark.rows("BRF-05")
def test_an_item_of_the_user_that_two_later_sessions_do_not_repeat_is_not_open() -> None:
    item = noted("pending_item", "move the briefing", session=1, at=1, origin="user")
    later = [noted("decision", f"choice {n}", session=n, at=n) for n in (2, 3, 4)]
    assert shown(derive_state([item, *later[:1]])) == ["move the briefing"]
    assert shown(derive_state([item, *later[:2]])) == []
    by_agent = replace(item, origin="agent")
    assert shown(derive_state([by_agent])) == ["move the briefing"]
    assert shown(derive_state([by_agent, *later[:1]])) == []
    again = noted("pending_item", "move the briefing", session=4, at=5)
    assert shown(derive_state([item, *later, again])) == ["move the briefing"]
    written_down = noted("pending_item", "keep me", session=1, at=1, source="manual_note")
    assert shown(derive_state([written_down, *later])) == ["keep me"]


@pytest.mark.rows("BRF-05")
def test_a_command_that_failed_blocks_no_later_session() -> None:
    blocker = noted("blocker", "`make test` fails: 2 failed", session=1, at=1)
    assert derive_state([blocker]).blocker_count == 1
    later = noted("decision", "another thing", session=2, at=2)
    assert derive_state([blocker, later]).blocker_count == 0


def test_items_without_a_time_are_older_than_those_with_one() -> None:
    undated = noted("pending_item", "write docs", None)
    assert derive_state([noted("completed_item", "write docs", 5), undated]).pending == ()


REQUEST = noted("user_request", "port the reader", 1)
PENDING = noted("pending_item", "write the docs", 2)
BLOCKER = noted("blocker", "no access", 3)
OBJECTIVE = noted("objective", "one memory", 1)
DOD = noted("session_dod", "make check passes", 1)
OPEN = "1 item still open: do not call the work done."
NO_DOD = "No definition of done is stated: state one or ask for it."


@pytest.mark.rows("OBS-07")
@pytest.mark.parametrize(
    ("observed", "lines"),
    [
        ([], []),
        ([noted("decision", "use apsw")], []),
        ([REQUEST], ["Keep to what was asked last: port the reader"]),
        ([BLOCKER], ["Say that the work is blocked (1): no access"]),
        ([OBJECTIVE], [NO_DOD]),
        ([OBJECTIVE, DOD], []),
        ([PENDING], [OPEN, NO_DOD]),
        ([PENDING, DOD], [OPEN]),
        (
            [PENDING, DOD, noted("completion_claim", "All done.", 9)],
            [OPEN, "Completion was claimed while 2 things stood open: check before repeating it."],
        ),
        ([noted("completion_claim", "All done.", 0), PENDING, DOD], [OPEN]),
    ],
)
def test_each_state_has_exactly_its_guardrails(observed: list, lines: list[str]) -> None:
    assert guardrails(derive_state(observed)) == lines
