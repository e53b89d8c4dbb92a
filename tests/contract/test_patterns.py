"""Signals, patterns, the decisions on them and their measured effects."""

from __future__ import annotations

import pytest

from session_memory.core.loop.effects import Effect
from session_memory.core.loop.patterns import Candidate, Signal
from session_memory.core.schema import ErrorSeen
from session_memory.errors import NotFound
from session_memory.store.port import Store
from session_memory.testing.store_drafts import (
    START,
    Said,
    analyze,
    capture,
    distilled,
    event,
    lived,
)

ONE = Said("one", "/logs/one.jsonl", (event(1, "first"),), lived(1, 2))
SIGNAL = Signal("p-1", "recurring_error", "no module yaml", quote="No module named 'yaml'")


def mined(store: Store) -> int:
    (one,) = capture(store, ONE)
    analyze(store, one)
    store.patterns.save_signals([(one, (SIGNAL,))])
    return one


def candidate(name: str = "p-1") -> Candidate:
    return Candidate(
        id=name,
        kind="problem",
        type="recurring_error",
        locus="no module yaml",
        about="",
        frequency=2,
        sessions=1,
        spread={2: 1},
        cross_flavor=False,
        flavors={"claude": 1},
        repos={},
        usd=None,
        minutes=1.0,
        value=1.0,
        first_seen=START,
        last_seen=START,
        quotes=(),
        tried=0,
    )


def test_a_digest_is_mined_once_and_again_when_it_changes(store: Store) -> None:
    (one,) = capture(store, ONE)
    analyze(store, one)
    assert store.patterns.unmined() == [one]
    assert store.patterns.unmined(among=[one + 1]) == []
    digests = [found.digest.objective for batch in store.patterns.minable([one]) for found in batch]
    assert digests == ["make it work"]
    store.patterns.save_signals([(one, (SIGNAL,)), (one + 1, (SIGNAL,))])
    assert store.patterns.unmined() == []
    analyze(store, one, distilled("make it fast"))
    assert store.patterns.unmined() == [one]


def test_evidence_is_what_was_mined(store: Store) -> None:
    one = mined(store)
    (found,) = store.patterns.evidence()
    assert (found.session, found.external_id, found.signals) == (one, "one", (SIGNAL,))
    assert list(store.patterns.evidence(since=START + 3)) == []
    assert list(store.patterns.evidence(repo="another")) == []


def test_the_stamp_of_evidence_changes_with_it(store: Store) -> None:
    before = store.patterns.evidence_stamp()
    one = mined(store)
    first = store.patterns.evidence_stamp()
    assert before != first == store.patterns.evidence_stamp()
    store.patterns.save_signals([(one, (SIGNAL, SIGNAL))])
    assert store.patterns.evidence_stamp() != first


def test_failures_are_those_of_sessions_that_had_any(store: Store) -> None:
    one, two = capture(store, ONE, Said("two", "/logs/two.jsonl", (event(2),), lived(3, 4)))
    seen = ErrorSeen("no module <name>", 1, "No module named 'yaml'")
    analyze(store, one, distilled(errors=(seen,)))
    analyze(store, two)
    (found,) = store.patterns.failures()
    assert (found.counts_as, found.external_id) == (one, "one")
    assert [error.sample for error in found.errors] == [seen.sample]


def test_a_decision_outlives_detection_and_an_undecided_pattern_does_not(store: Store) -> None:
    store.patterns.save_candidates([candidate("p-1"), candidate("p-2")], START)
    store.patterns.decide("p-1", "rejected", START + 1)
    store.patterns.save_candidates([], START + 2)
    assert store.patterns.statuses() == {"p-1": "rejected"}
    store.patterns.save_candidates([candidate("p-1")], START + 3)
    assert store.patterns.statuses() == {"p-1": "rejected"}
    with pytest.raises(NotFound):
        store.patterns.decide("p-2", "approved", START)


def test_decisions_are_restored_from_files(store: Store) -> None:
    decided = [("p-9", "problem", "recurring_error", "approved")]
    assert store.patterns.restore(decided, START) == 1  # pyright: ignore[reportArgumentType]
    assert store.patterns.restore(decided, START) == 0  # pyright: ignore[reportArgumentType]
    assert store.patterns.statuses() == {"p-9": "approved"}


def test_effects_replace_those_of_the_same_version_and_method(store: Store) -> None:
    def effect(version: int, measured_at: int) -> Effect:
        return Effect(
            "p-1", version, "before_after", "insufficient_data", measured_at, START, "fewer", {}
        )

    store.effects.save([effect(1, START), effect(2, START)])
    store.effects.save([effect(2, START + 1)])
    assert store.effects.all() == [effect(1, START), effect(2, START + 1)]
