"""Asking again: after what passes by itself, after the delays asked for, and never else."""

from __future__ import annotations

from typing import Any

import pytest
from tests.model.meters import ASKED, metered

from session_memory.errors import BudgetSpent, ModelFailed, ModelUnavailable
from session_memory.model.failures import TRANSIENT, CallFailed, Kind
from session_memory.model.retry import Patience, ask
from session_memory.store.sqlite import SqliteStore
from session_memory.testing.scripted_model import Line, ScriptedModel


def tried(lines: list[Line], **how: Any) -> tuple[ScriptedModel, list[float], Patience]:
    slept: list[float] = []
    return ScriptedModel(lines), slept, Patience(sleep=slept.append, **how)


@pytest.mark.parametrize("kind", sorted(TRANSIENT))
def test_a_failure_that_passes_is_tried_again(kind: Kind) -> None:
    model, slept, patience = tried([CallFailed("busy", kind), CallFailed("busy", kind), "yes"])

    assert ask(model, ASKED, patience).text == "yes"
    assert slept == [2.0, 4.0]


def test_after_the_last_attempt_there_is_no_sleep() -> None:
    model, slept, patience = tried([CallFailed("busy", "overloaded")] * 3)

    with pytest.raises(CallFailed):
        ask(model, ASKED, patience)
    assert (slept, len(model.requests)) == ([2.0, 4.0], 3)


@pytest.mark.parametrize(
    ("asked", "waited"), [(30.0, 30.0), (0.5, 2.0), (86_400.0, 60.0), (None, 2.0)]
)
def test_a_server_may_ask_for_more_patience_within_reason(
    asked: float | None, waited: float
) -> None:
    busy = CallFailed("busy", "rate_limited", retry_after=asked)
    model, slept, patience = tried([busy, "yes"])

    ask(model, ASKED, patience)

    assert slept == [waited]


@pytest.mark.parametrize(
    "error",
    [
        CallFailed("no", "refusal"),
        CallFailed("no", "rejected"),
        CallFailed("no", "empty"),
        CallFailed("no", "cut_stream"),
        ModelUnavailable("wrong key"),
        ModelFailed("unable to parse"),
        BudgetSpent("spent"),
    ],
)
def test_what_will_not_pass_is_not_tried_again(error: Exception) -> None:
    model, slept, patience = tried([error, "never"])

    with pytest.raises(type(error)):
        ask(model, ASKED, patience)
    assert (slept, len(model.requests)) == ([], 1)


def test_any_failure_of_an_answer_can_be_tried_again_when_asked_for() -> None:
    lines: list[Line] = [CallFailed("no", "empty"), ModelFailed("no JSON"), "yes"]
    model, slept, patience = tried(lines, any_failure=True)

    assert ask(model, ASKED, patience).text == "yes"
    assert slept == [2.0, 4.0]


@pytest.mark.parametrize("error", [ModelUnavailable("wrong key"), BudgetSpent("spent")])
def test_no_patience_helps_without_a_key_or_money(error: Exception) -> None:
    model, slept, patience = tried([error, "never"], any_failure=True)

    with pytest.raises(type(error)):
        ask(model, ASKED, patience)
    assert (slept, len(model.requests)) == ([], 1)


def test_every_failed_attempt_is_told_with_its_number() -> None:
    told: list[tuple[int, str]] = []

    def tell(number: int, error: ModelUnavailable) -> None:
        told.append((number, error.message))

    model, _, patience = tried(
        [CallFailed("one", "server"), CallFailed("two", "server"), CallFailed("three", "server")],
        failed=tell,
    )

    with pytest.raises(CallFailed):
        ask(model, ASKED, patience)
    assert told == [(1, "one"), (2, "two"), (3, "three")]


def test_each_attempt_is_a_call_of_the_budget(store: SqliteStore) -> None:
    model, _, patience = tried([CallFailed("busy", "overloaded")] * 3)

    with pytest.raises(BudgetSpent, match="2 of 2 calls"):
        ask(metered(model, store, run_calls=2), ASKED, patience)

    assert len(model.requests) == 2
    assert store.spend.totals("purpose", "2000-01-01")[0].failed == 2
