"""Asking again: after what passes by itself, after the delays asked for, and never else."""

from __future__ import annotations

import pytest
from tests.model.meters import REQUEST, metered

from session_memory.errors import BudgetSpent, ModelFailed, ModelUnavailable
from session_memory.model.failures import CallFailed, Kind
from session_memory.model.retry import RETRIED, ask
from session_memory.store.port import Store
from session_memory.testing.scripted_model import Line, ScriptedModel


def tried(lines: list[Line]) -> tuple[ScriptedModel, list[float]]:
    return ScriptedModel(lines), []


@pytest.mark.parametrize("kind", sorted(RETRIED))
def test_a_failure_that_passes_is_tried_again(kind: Kind) -> None:
    model, slept = tried([CallFailed("busy", kind), CallFailed("busy", kind), "yes"])

    assert ask(model, REQUEST, slept.append).text == "yes"
    assert slept == [2.0, 4.0]


def test_after_the_last_attempt_there_is_no_sleep() -> None:
    model, slept = tried([CallFailed("busy", "overloaded")] * 3)

    with pytest.raises(CallFailed):
        ask(model, REQUEST, slept.append)
    assert (slept, len(model.requests)) == ([2.0, 4.0], 3)


@pytest.mark.parametrize(
    ("asked", "waited"), [(30.0, 30.0), (0.5, 2.0), (86_400.0, 60.0), (None, 2.0)]
)
def test_a_server_may_ask_for_more_patience_within_reason(
    asked: float | None, waited: float
) -> None:
    busy = CallFailed("busy", "rate_limited", retry_after=asked)
    model, slept = tried([busy, "yes"])

    ask(model, REQUEST, slept.append)

    assert slept == [waited]


@pytest.mark.parametrize(
    "error",
    [
        CallFailed("no", "refusal"),
        CallFailed("no", "rejected"),
        CallFailed("no", "empty"),
        CallFailed("no", "timeout"),
        CallFailed("no", "cut_stream"),
        ModelUnavailable("wrong key"),
        ModelFailed("unable to parse"),
        BudgetSpent("spent"),
    ],
)
def test_what_will_not_pass_is_not_tried_again(error: Exception) -> None:
    model, slept = tried([error, "never"])

    with pytest.raises(type(error)):
        ask(model, REQUEST, slept.append)
    assert (slept, len(model.requests)) == ([], 1)


def test_each_attempt_is_a_call_of_the_budget(store: Store) -> None:
    model, slept = tried([CallFailed("busy", "overloaded")] * 3)

    with pytest.raises(BudgetSpent, match="2 of 2 calls"):
        ask(metered(model, store, run_calls=2), REQUEST, slept.append)

    assert len(model.requests) == 2
    assert store.spend.totals("purpose", "2000-01-01")[0].failed == 2
