"""Signals of many sessions become candidates: counted once, named for good, ranked."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.detect.digests import mined, signal

from session_memory.core.loop.patterns import Candidate, Mined, Signal, pattern_id
from session_memory.detect.cluster import cluster
from session_memory.detect.rank import rank
from session_memory.testing.store_drafts import START

DAY_MS = 86_400_000
PUSH = "git push <args>"


def found(*sessions: Mined) -> list[Candidate]:
    """Everything, also what a single session shows."""
    return rank(cluster(lambda: sessions, single_sessions=True), START)


def recurring(*sessions: Mined) -> list[Candidate]:
    return rank(cluster(lambda: sessions), START)


@pytest.mark.rows("DET-04", "DET-05")
def test_sessions_of_two_agents_meet_in_one_candidate() -> None:
    one = mined(1, signal("failing_command", PUSH, usd=1.0, minutes=2.0, quote="git push a"))
    other = signal("failing_command", PUSH, 2, usd=0.5, minutes=1.0, quote="git push b")
    (both,) = found(one, mined(2, other, flavor="codex", repo="tool"))
    assert (both.frequency, both.sessions, both.cross_flavor) == (3, 2, True)
    assert (both.usd, both.minutes) == (1.5, 3.0)
    assert (both.flavors, both.repos) == ({"claude": 1, "codex": 1}, {"shop": 1, "tool": 1})
    assert {quote.text for quote in both.quotes} == {"git push a", "git push b"}
    (same,) = found(one, mined(2, other))
    assert (same.sessions, same.cross_flavor) == (2, False)


@pytest.mark.rows("DET-08")
def test_occurrences_and_sessions_are_counted_apart() -> None:
    (one,) = found(mined(1, signal("failing_command", PUSH, 10)))
    assert (one.frequency, one.sessions) == (10, 1)


@pytest.mark.rows("DET-08")
def test_sub_agents_are_evidence_of_the_session_they_worked_for() -> None:
    one = signal("failing_command", PUSH)
    (same,) = found(mined(1, one), mined(2, one, counts_as=1), mined(3, one, counts_as=1))
    assert (same.frequency, same.sessions) == (3, 1)


def test_what_recurs_is_shown_by_two_sessions_however_often_one_shows_it() -> None:
    lonely = mined(1, signal("failing_command", PUSH, 100))
    assert recurring(lonely) == []
    assert len(recurring(lonely, mined(2, signal("failing_command", PUSH)))) == 1
    assert [one.frequency for one in found(lonely)] == [100]


def test_a_cure_that_a_second_session_tried_in_vain_does_not_recur() -> None:
    worked = signal("cure", "make keys", about="no key", tried=1)
    in_vain = signal("cure", "make keys", 0, about="no key", tried=1)
    assert recurring(mined(1, worked), mined(2, in_vain)) == []
    (seen,) = found(mined(1, worked), mined(2, in_vain))
    assert (seen.sessions, seen.tried) == (1, 2)


def test_near_duplicates_of_an_error_are_one_candidate_with_their_cures() -> None:
    first, second = "cannot open <path> for user anna now", "cannot open <path> for user bert now"
    sessions = [
        mined(at, signal("recurring_error", text), signal("cure", "make keys", about=text, tried=1))
        for at, text in ((1, first), (2, second))
    ]
    sessions.append(mined(3, signal("cure", "make keys", 0, about=second, tried=1)))
    problem = next(one for one in recurring(*sessions) if one.kind == "problem")
    assert (problem.locus, problem.sessions) == (first, 2)
    (cure,) = problem.cures
    assert (cure.command, cure.worked, cure.tried) == ("make keys", 2, 3)


def test_a_correction_in_nearly_the_same_words_is_the_same() -> None:
    said = ["install instead pip uv", "install instead pip use uv", "commit message short"]
    sessions = [mined(at, signal("user_correction", text)) for at, text in enumerate(said)]
    assert [(one.locus, one.sessions) for one in recurring(*sessions)] == [(said[1], 2)]
    assert len(found(*sessions)) == 2


@pytest.mark.rows("DET-07")
def test_the_name_decided_on_wins_among_near_duplicates() -> None:
    texts = ["cannot open <path> for user anna now", "cannot open <path> for user bert now"]
    later = pattern_id("recurring_error", texts[1])
    sessions = [mined(at, signal("recurring_error", text)) for at, text in enumerate(texts)]
    (one,) = cluster(lambda: sessions, {later: "rejected"})
    assert (one.id, one.status, one.frequency) == (later, "rejected", 2)


@pytest.mark.rows("DET-01")
def test_across_agents_comes_first_then_value() -> None:
    cheap = signal("failing_command", "across", usd=0.1)
    dear, dearer = (signal("failing_command", name, usd=9.0) for name in ("dear", "dearer"))
    sessions = [
        mined(1, cheap, dear, dearer),
        mined(2, cheap, flavor="codex"),
        mined(3, dear, dearer),
        mined(4, dearer),
    ]
    assert [one.locus for one in found(*sessions)] == ["across", "dearer", "dear"]


def test_what_was_seen_long_ago_is_worth_less() -> None:
    old = mined(1, signal("failing_command", "old", usd=1.0, at=START - 60 * DAY_MS))
    new = mined(2, signal("failing_command", "new", usd=1.0, at=START))
    values = {one.locus: one.value for one in found(old, new)}
    assert values == {"new": 1.0, "old": 0.25}


SIGNALS = st.builds(signal, st.just("failing_command"), st.sampled_from("abc"), st.integers(1, 5))
SESSIONS = st.lists(st.tuples(st.sampled_from(["claude", "codex"]), st.lists(SIGNALS, max_size=4)))


@settings(max_examples=40)
@given(SESSIONS)
def test_order_does_not_show_and_what_recurs_is_a_part_of_all(
    drawn: list[tuple[str, list[object]]],
) -> None:
    sessions = [mined(at, *one, flavor=flavor) for at, (flavor, one) in enumerate(drawn)]  # pyright: ignore
    whole = found(*sessions)
    assert found(*reversed(sessions)) == whole
    assert recurring(*sessions) == [one for one in whole if one.sessions > 1]
    assert sum(one.frequency for one in whole) == sum(
        one.count for session in sessions for one in session.signals
    )


THINGS = [f"cannot reach host{number} over the wire" for number in range(4)]
TOLD = [
    *(signal("recurring_error", text, usd=0.25, minutes=0.5, quote=text) for text in THINGS),
    *(signal("cure", "make keys", 1, about=text, tried=1, usd=0.25) for text in THINGS),
    *(signal("cure", "make keys", 0, about=text, tried=1) for text in THINGS),
    *(signal("user_correction", f"install instead pip {word} uv") for word in ("now", "use")),
]


@settings(max_examples=60)
@given(st.lists(st.lists(st.sampled_from(TOLD), max_size=5), max_size=6), st.randoms())
def test_a_cure_counts_with_its_error_whichever_comes_first(
    drawn: list[list[Signal]], chance: Random
) -> None:
    sessions = [mined(at, *shown) for at, shown in enumerate(drawn)]
    whole = found(*sessions)
    chance.shuffle(sessions)
    assert found(*sessions) == whole
    seen = {one.locus for shown in drawn for one in shown if one.type == "recurring_error"}
    errors = [one for one in whole if one.type == "recurring_error"]
    expected = [(min(seen), len(seen) - 1)] if seen else []
    assert [(one.locus, len(one.merged)) for one in errors] == expected
    for cure in whole:
        if cure.type == "cure":
            assert cure.about == min(seen, default="") or cure.about not in seen
