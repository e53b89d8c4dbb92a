"""No call without room under the caps, none without a ledger row, whoever else is calling."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from tests.model.meters import NOW, REQUEST, RICH, metered

from session_memory.clock import local_date
from session_memory.core.spend import SpendRow, Spent
from session_memory.errors import BudgetSpent, ModelFailed, ModelUnavailable
from session_memory.model.budget import answer_tokens
from session_memory.model.failures import CallFailed, Kind
from session_memory.model.metered import LEAST_TURNS, Meter, Metered, estimate_of
from session_memory.model.port import Answer, Request, Usage
from session_memory.store import open_store
from session_memory.store.port import Store
from session_memory.testing.scripted_model import ScriptedModel

ROOT = Path(__file__).resolve().parents[2]
LONG = [10**6]


def ledger_row(store: Store) -> SpendRow:
    """The only day of the ledger."""
    (row,) = store.spend.totals("day", "2000-01-01")
    return row


def test_the_true_figures_replace_the_estimate(store: Store) -> None:
    said = Answer("yes", "claude-haiku-4-5", Usage(1_000, 200, 500, 100))

    metered(ScriptedModel([said]), store).ask(REQUEST)

    (row,) = store.spend.totals("model", "2000-01-01")
    assert (row.name, row.calls, row.failed, row.unsettled) == ("claude-haiku-4-5", 1, 0, 0)
    assert (row.input_tokens, row.output_tokens) == (1_600, 200)
    # 1000 at $1, 200 at $5, 500 read from a cache at a tenth, 100 written to it at 1.25, a million.
    assert row.usd == pytest.approx((1_000 + 1_000 + 50 + 125) / 1e6)


def test_a_price_the_provider_states_is_taken(store: Store) -> None:
    said = Answer("yes", "no-such-model", Usage(10, 10, usd=0.25))

    metered(ScriptedModel([said]), store).ask(REQUEST)

    assert ledger_row(store).usd == 0.25


def test_a_model_without_a_price_counts_by_tokens_and_is_shown_as_unpriced(
    store: Store,
) -> None:
    metered(ScriptedModel([Answer("yes", "no-such-model", Usage(10, 5))]), store).ask(REQUEST)

    row = ledger_row(store)
    assert (row.unpriced, row.usd, row.input_tokens + row.output_tokens) == (1, 0.0, 15)


def test_a_server_that_counts_nothing_is_not_free(store: Store) -> None:
    metered(ScriptedModel([Answer("y" * 30, "m", Usage())]), store).ask(REQUEST)

    assert (ledger_row(store).input_tokens, ledger_row(store).output_tokens) == (4, 10)


@pytest.mark.parametrize(
    ("cap", "reason"),
    [
        ({"run_calls": 0}, "0 of 0 calls"),
        ({"run_tokens": 93}, "may need 94 tokens"),
        ({"day_tokens": 93}, "of today"),
        ({"run_ms": 0}, "minutes"),
    ],
)
def test_over_a_cap_nothing_is_called_and_nothing_noted(
    store: Store, cap: dict[str, int], reason: str
) -> None:
    model = ScriptedModel(["never"])

    with pytest.raises(BudgetSpent, match=reason):
        metered(model, store, **cap).ask(REQUEST)

    assert model.requests == []
    assert store.spend.totals("day", "2000-01-01") == []


def test_a_dollar_cap_holds_before_the_call(store: Store) -> None:
    model = ScriptedModel(["never"], name="claude-haiku-4-5")
    dear = msgspec.structs.replace(REQUEST, max_output_tokens=100_000)  # half a dollar

    with pytest.raises(BudgetSpent, match=r"may cost \$0.5"):
        metered(model, store, run_usd=0.4, window=10**6).ask(dear)
    assert model.requests == []


def test_a_run_that_has_taken_its_time_asks_no_more(store: Store) -> None:
    times = iter([NOW, NOW, NOW + 60_000])
    limits = msgspec.structs.replace(RICH, run_ms=60_000)
    model = Metered(
        ScriptedModel(["one", "two"]), Meter(limits, store.spend, lambda: next(times), "run")
    )

    model.ask(REQUEST)
    with pytest.raises(BudgetSpent, match="1 minutes"):
        model.ask(REQUEST)


def test_a_call_may_not_outlast_its_run(store: Store) -> None:
    model = ScriptedModel(["one"])

    metered(model, store, run_ms=5_000).ask(REQUEST)

    assert model.requests[0].timeout_s == 5.0


def test_a_call_takes_the_time_the_user_gave_unless_it_needs_another(store: Store) -> None:
    model = ScriptedModel(["one", "two"])
    meter = metered(model, store, timeout_s=600.0)
    meter.ask(REQUEST)
    meter.ask(msgspec.structs.replace(REQUEST, timeout_s=5.0))
    assert [request.timeout_s for request in model.requests] == [600.0, 5.0]


@pytest.mark.parametrize(
    ("kind", "tokens"),
    [("rate_limited", 0), ("connection", 0), ("rejected", 0), ("timeout", 94), ("cut_stream", 94)],
)
def test_a_failure_that_may_have_been_billed_counts_as_its_estimate(
    store: Store, kind: Kind, tokens: int
) -> None:
    with pytest.raises(CallFailed):
        metered(ScriptedModel([CallFailed("no", kind)]), store).ask(REQUEST)

    row = ledger_row(store)
    assert (row.calls, row.failed, row.input_tokens + row.output_tokens) == (1, 1, tokens)


@pytest.mark.parametrize(
    ("error", "tokens"), [(ModelUnavailable("no key"), 0), (ModelFailed("odd"), 94)]
)
def test_every_failure_has_a_row(store: Store, error: Exception, tokens: int) -> None:
    with pytest.raises(type(error)):
        metered(ScriptedModel([error]), store).ask(REQUEST)

    assert (ledger_row(store).failed, ledger_row(store).unsettled) == (1, 0)
    assert ledger_row(store).input_tokens + ledger_row(store).output_tokens == tokens


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Answer("  \n", "m", Usage(7, 1)), "empty"),
        (Answer("I cannot", "m", Usage(7, 1), "refusal"), "refused"),
        (Answer('{"a": "b', "m", Usage(7, 1), "length"), "cut off"),
    ],
)
def test_an_empty_refused_or_cut_answer_is_a_failure_and_is_paid(
    store: Store, answer: Answer, words: str
) -> None:
    asked = msgspec.structs.replace(REQUEST, schema={"type": "object"})

    with pytest.raises(ModelFailed, match=words):
        metered(ScriptedModel([answer]), store).ask(asked)

    assert (ledger_row(store).failed, ledger_row(store).input_tokens) == (1, 7)


def test_a_model_without_folders_is_not_asked_to_work_in_one(store: Store) -> None:
    model = ScriptedModel(["never"], works_in_folders=False)

    with pytest.raises(ModelUnavailable, match="cannot work in a folder"):
        metered(model, store).ask(msgspec.structs.replace(REQUEST, folder="/somewhere"))
    assert model.requests == []


def test_a_call_whose_process_died_counts_as_its_estimate(tmp_path: Path) -> None:
    program = """
import os, sys
from session_memory.store import open_store
from session_memory.testing.scripted_model import ScriptedModel
from tests.model.meters import REQUEST, metered

store = open_store(sys.argv[1], 0, create_missing=True)
metered(ScriptedModel([lambda request: os._exit(9)]), store).ask(REQUEST)
"""
    directory = str(tmp_path / "store")

    died = subprocess.run([sys.executable, "-c", program, directory], cwd=ROOT, check=False)

    assert died.returncode == 9
    with open_store(directory, 0) as store:
        row = ledger_row(store)
        assert (row.unsettled, row.input_tokens + row.output_tokens) == (1, 94)
        assert store.spend.spent("run", local_date(NOW)).day_tokens == 94


CALLS = 40
EIGHT_THREADS = f"""
import sys
from concurrent.futures import ThreadPoolExecutor
from session_memory.errors import BudgetSpent
from session_memory.model.port import Answer, Usage
from session_memory.store import open_store
from session_memory.testing.scripted_model import ScriptedModel
from tests.model.meters import REQUEST, metered

store = open_store(sys.argv[1], 0)
model = ScriptedModel([Answer("yes", "m", Usage(4, 90))] * {CALLS})
meter = metered(model, store, day_tokens=940, run_calls=1_000)
print("ready", flush=True)
sys.stdin.readline()

def once(_):
    try:
        meter.ask(REQUEST)
    except BudgetSpent:
        pass

with ThreadPoolExecutor(8) as pool:
    list(pool.map(once, range({CALLS})))
print(len(model.requests))
store.close()
"""


def test_two_processes_of_eight_threads_cannot_pass_a_cap_together(tmp_path: Path) -> None:
    directory = str(tmp_path / "store")
    open_store(directory, 0, create_missing=True).close()
    both = [
        subprocess.Popen(
            [sys.executable, "-c", EIGHT_THREADS, directory],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    for process in both:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

    made = [int(process.communicate("go\n", timeout=60)[0]) for process in both]

    assert [process.returncode for process in both] == [0, 0]
    # Room for ten calls of 94 tokens: exactly so many were made, over both.
    assert sum(made) == 10
    with open_store(directory, 0) as store:
        assert ledger_row(store).calls == 10
        assert store.spend.spent("run", local_date(NOW)) == Spent(10, 940, 0.0, 940, 0.0)


def test_threads_share_one_model(store: Store) -> None:
    model = metered(ScriptedModel([str(number) for number in range(50)]), store)

    with ThreadPoolExecutor(8) as pool:
        said = {answer.text for answer in pool.map(lambda _: model.ask(REQUEST), range(50))}

    assert said == {str(number) for number in range(50)}
    assert (ledger_row(store).calls, ledger_row(store).unsettled) == (50, 0)


def test_an_agent_is_estimated_with_its_own_instructions_on_every_turn() -> None:
    plain = Request("p", "abc", "abc", max_output_tokens=10, max_turns=3)

    assert estimate_of(plain, "m").tokens == 12
    assert estimate_of(plain, "m", turn_tokens=100).tokens == (2 + 100 + 10) * 3


@pytest.mark.rows("EXT-62")
def test_a_call_that_others_under_way_keep_out_waits_for_them(store: Store) -> None:
    # Room for one estimate of 94 tokens at a time, and each call really costs one.
    inside: list[int] = [0, 0]
    lock = threading.Lock()

    def cheap(_request: Request) -> Answer:
        with lock:
            inside[0] += 1
            inside[1] = max(inside)
        with lock:
            inside[0] -= 1
        return Answer("yes", "m", Usage(1, 0))

    model = metered(ScriptedModel([cheap] * 20), store, run_tokens=94 + 19)
    with ThreadPoolExecutor(8) as pool:
        said = list(pool.map(lambda _: model.ask(REQUEST).text, range(20)))
    assert said == ["yes"] * 20 and inside == [0, 1]


@pytest.mark.rows("EXT-62")
def test_what_does_not_fit_when_all_are_settled_is_put_off(store: Store) -> None:
    dear = Answer("yes", "m", Usage(4, 90))
    model = metered(ScriptedModel([dear, dear]), store, run_tokens=200)

    def ask(_number: int) -> str:
        try:
            return model.ask(REQUEST).text
        except BudgetSpent:
            return "put off"

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(ask, range(4))) == ["put off", "put off", "yes", "yes"]


def test_a_failed_call_lets_the_next_one_in(store: Store) -> None:
    begun = threading.Event()

    def fail(_request: Request) -> str:
        begun.wait(60)
        raise CallFailed("busy", "rate_limited")

    model = metered(ScriptedModel([fail, "yes"]), store, run_tokens=94)
    with ThreadPoolExecutor(2) as pool:
        first, second = (pool.submit(model.ask, REQUEST) for _ in range(2))
        begun.set()
        errors = [one.exception() for one in (first, second)]
    assert sorted(type(error).__name__ for error in errors) == ["CallFailed", "NoneType"]


@pytest.mark.rows("EXT-61")
def test_the_window_leaves_room_for_instructions_and_answer(store: Store) -> None:
    model = metered(ScriptedModel(), store, window=10_000)
    # "system" and "user" are two tokens each, the answer ninety.
    assert model.input_limit(REQUEST, LONG) == (10_000 - 4 - 90) * 3
    agent = metered(ScriptedModel(), store, window=10_000, turn_tokens=1_000)
    assert agent.input_limit(REQUEST, LONG) == (10_000 - 4 - 1_000 - 2 * 90) * 3


def test_a_window_without_room_and_caps_without_room_say_so(store: Store) -> None:
    with pytest.raises(ModelUnavailable, match="a window of 400 tokens has no room") as small:
        metered(ScriptedModel(), store, window=400).input_limit(REQUEST, LONG)
    assert "model.context_tokens" in str(small.value.hint)
    with pytest.raises(BudgetSpent, match="the caps leave no room"):
        metered(ScriptedModel(), store, run_tokens=200).input_limit(REQUEST, LONG)


def test_an_answer_is_at_most_a_quarter_of_the_window(store: Store) -> None:
    assert (answer_tokens(8_000, 128_000), answer_tokens(8_000, 8_192)) == (8_000, 2_048)
    model = ScriptedModel(["yes"])
    metered(model, store, window=80).ask(REQUEST)
    assert model.requests[0].max_output_tokens == 20


@pytest.mark.rows("EXT-61")
@pytest.mark.parametrize(("tokens", "turns"), [(10**6, 16), (11_000, 10), (100_000, 16)])
def test_an_agent_gets_the_turns_that_a_fresh_run_can_pay(
    store: Store, tokens: int, turns: int
) -> None:
    model = ScriptedModel(["done"])
    folder = Request("p", "", "", max_output_tokens=100, folder="/x", max_turns=16)
    metered(model, store, run_tokens=tokens, turn_tokens=1_000).ask(folder)
    assert model.requests[0].max_turns == turns


def test_fewer_turns_than_an_agent_needs_are_not_tried(store: Store) -> None:
    folder = Request("p", "", "", max_output_tokens=100, folder="/x", max_turns=16)
    short = metered(ScriptedModel(), store, run_tokens=1_100 * (LEAST_TURNS - 1), turn_tokens=1_000)
    with pytest.raises(BudgetSpent):
        short.ask(folder)
    assert RICH.run_tokens > 10**6
