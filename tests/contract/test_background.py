"""Events recorded by hooks, and the ledger of model calls."""

from __future__ import annotations

import pytest

from session_memory.core.spend import Call, Settled, Spent
from session_memory.core.spool import SpoolRecord
from session_memory.store.port import Store
from session_memory.testing.store_drafts import START

DAY = "2026-03-02"


def call(usd: float | None = 0.5, purpose: str = "extract") -> Call:
    return Call(START, DAY, "run", purpose, "anthropic", "small", 100, 50, usd)


def permit(_spent: Spent) -> None:
    """Any call may be made."""


def test_hook_events_are_recorded_once(store: Store) -> None:
    end = SpoolRecord("r1", START, "claude", "stop", session="s", turn="t1", model="large")
    start = SpoolRecord(
        "r2",
        START + 1,
        "claude",
        "session_start",
        session="s",
        model=" ",
        given=("p",),
        held=("q",),
    )
    assert store.live.note([end, start]) == 1
    assert store.live.note([end, start]) == 0
    assert store.live.notes("claude", "s")["model"] == "large", "a blank one replaces nothing"
    (injection,) = store.live.injections("claude", "s")
    assert (injection.given, injection.held) == (("p",), ("q",))
    assert store.live.notes("codex", "s") == {}
    assert store.live.given_with("p") == [("claude", "s", ("p",))]
    assert store.live.given_with("q") == store.live.given_with("%") == []


def test_notes_of_sessions_that_were_never_read_are_forgotten_by_their_directory(
    store: Store,
) -> None:
    for session, cwd in (("gone", "/work/shop"), ("stays", "/work/other")):
        record = SpoolRecord(session, START, "claude", "stop", session=session, cwd=cwd)
        store.live.note([record])
    store.forget_notes(lambda cwd: cwd == "/work/shop")
    assert store.live.notes("claude", "gone") == {}
    assert store.live.notes("claude", "stays")["cwd"] == "/work/other"


def test_a_call_counts_with_its_estimate_until_it_is_settled(store: Store) -> None:
    number = store.spend.reserve(call(), permit)
    assert store.spend.spent("run", DAY) == Spent(1, 150, 0.5, 150, 0.5)
    store.spend.settle(number, Settled("small-1", 10, 5, 0.1))
    assert store.spend.spent("run", DAY) == Spent(1, 15, 0.1, 15, 0.1)
    assert store.spend.spent("other", DAY).run_calls == 0


def test_a_refused_call_leaves_nothing(store: Store) -> None:
    store.spend.reserve(call(), permit)

    def refuse(spent: Spent) -> None:
        assert spent.run_calls == 1
        raise PermissionError

    with pytest.raises(PermissionError):
        store.spend.reserve(call(), refuse)
    assert store.spend.spent("run", DAY).run_calls == 1


def test_totals_by_purpose_name_what_has_no_price(store: Store) -> None:
    store.spend.reserve(call(), permit)
    store.spend.reserve(call(None, "compile"), permit)
    totals = {row.name: row for row in store.spend.totals("purpose", DAY)}
    assert (totals["extract"].usd, totals["compile"].unpriced) == (0.5, 1)
    assert store.spend.totals("day", "2026-03-03") == []
