"""Which sessions are measured: those a person ran, with what their sub-agents met and cost."""

from __future__ import annotations

from typing import Any

import pytest

from session_memory.core.digest import DIGEST_VERSION
from session_memory.core.loop.patterns import Mined, Signal
from session_memory.core.schema import Cost, Session
from session_memory.measure.metrics import Watch, figures, find_units

SIGNAL = Signal("p1", "failing_command", "npm test")


def run(number: int, **more: Any) -> Session:
    given: dict[str, Any] = {"started_at": 1000 * number, "ended_at": 1000 * number + 600_000}
    given |= {"event_count": 10, "project_key": "shop", "cost": Cost(usd=1.0)}
    return Session(number, "claude", f"s{number}", **{**given, **more})


def mined(number: int, *signals: Signal, counts_as: int | None = None) -> Mined:
    return Mined(number, counts_as or number, "claude", f"s{number}", "shop", 1, signals)


def test_sub_agents_count_for_their_session_and_the_rest_is_left_out_by_reason() -> None:
    sessions = [
        run(1),
        run(2, parent_external_id="s1", parent_id=1, source_kind="subagent"),
        run(3, source_kind="internal"),
        run(4, low_value="nothing was asked for"),
        run(5, started_at=None),
        run(6),
        run(7, cost=Cost()),
    ]
    told = [mined(1), mined(2, SIGNAL, counts_as=1), mined(7)]
    versions = dict.fromkeys(range(1, 8), DIGEST_VERSION)
    found = find_units(sessions, told, {1: "success", 7: "uncertain"}, versions)
    assert found.left_out == {
        "low value": 1,
        "no time known": 1,
        "not analyzed yet": 1,
        "our own": 1,
        "sub-agent": 1,
    }
    assert [(one.name, one.usd, one.minutes) for one in found.sessions] == [
        ("s1", 2.0, 5.0),
        ("s7", None, 5.0),
    ]
    group = figures(found.sessions, Watch(frozenset({"p1"}), "fewer"))
    assert (group.sessions, group.recurred, group.decided, group.succeeded) == (2, 1, 1, 1)
    assert (group.usd, group.minutes) == (2.0, 5.0)


@pytest.mark.rows("MEA-05")
def test_digests_of_another_version_are_not_compared_and_counted() -> None:
    sessions = [run(number) for number in range(1, 5)]
    sessions.append(run(5, parent_external_id="s4", parent_id=4, source_kind="subagent"))
    found = find_units(
        sessions,
        [*(mined(number, SIGNAL) for number in range(1, 5)), mined(5, counts_as=4)],
        {},
        {1: DIGEST_VERSION, 2: DIGEST_VERSION - 1, 3: 1, 4: DIGEST_VERSION, 5: DIGEST_VERSION - 1},
    )
    assert [one.name for one in found.sessions] == ["s1"]
    assert found.left_out == {"distilled by another version": 3, "sub-agent": 1}


def test_a_group_of_nobody_has_figures_that_say_so() -> None:
    group = figures((), Watch(frozenset({"p1"}), "fewer"))
    assert (group.sessions, group.usd, group.rate.low, group.rate.high) == (0, None, 0.0, 1.0)
