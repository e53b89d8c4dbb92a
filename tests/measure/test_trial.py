"""Trials: both halves by one rule, told apart by what hooks recorded."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.measure.measured_sessions import DAY, NOW, POLICY, SINCE, SUBJECT, session

from session_memory.core.loop.trials import (
    Trial,
    is_given,
    section_id,
    under_trial,
)
from session_memory.errors import NotFound, Refused
from session_memory.hooks import entry
from session_memory.measure.metrics import MeasuredSession
from session_memory.measure.trial import Recorded, arms, start, stop, trial_effect
from session_memory.store.trial_files import TRIALS, read_trials, write_trials

TRIAL = Trial("p1", 1, SINCE)


def by_rule(*_: str) -> Recorded:
    """Records as the hook writes them."""

    def recorded(_flavor: str, name: str) -> list[tuple[int, tuple[str, ...], tuple[str, ...]]]:
        section = (section_id("p1"),)
        return [(SINCE, section, ()) if is_given(name, "p1") else (SINCE, (), section)]

    return recorded


@settings(max_examples=200)
@given(st.text(max_size=40), st.text("0123456789abcdef", min_size=1, max_size=12))
def test_the_hook_and_the_analysis_assign_alike(name: str, pattern: str) -> None:
    name = name.encode("utf-8", "replace").decode()
    section = {"id": section_id(pattern), "text": "words", "trial": pattern}
    _, gave, held = entry.compose({"sections": [section]}, name)
    assert (gave if is_given(name, pattern) else held) == [section_id(pattern)]
    assert len(gave) + len(held) == 1


def test_half_of_the_sessions_are_given_a_pattern_and_patterns_are_independent() -> None:
    names = [f"session-{number}" for number in range(4000)]
    one, other = ([is_given(name, pattern) for name in names] for pattern in ("p1", "p2"))
    assert 0.47 < sum(one) / 4000 < 0.53
    assert 0.47 < sum(a == b for a, b in zip(one, other, strict=True)) / 4000 < 0.53


def spread(count: int, given_rate: float, held_rate: float) -> list[MeasuredSession]:
    """Sessions that show the signal at the rate of their arm, evenly."""
    seen: list[MeasuredSession] = []
    counts = {True: 0, False: 0}
    for number in range(count):
        name = f"s{number}"
        arm = is_given(name, "p1")
        rate = given_rate if arm else held_rate
        shows = int((counts[arm] + 1) * rate) > int(counts[arm] * rate)
        counts[arm] += 1
        seen.append(session(name, SINCE + number * 1000, shows))
    return seen


def test_an_effect_between_the_arms_is_found_and_its_absence_too() -> None:
    for rates, verdict in (
        ((0.1, 0.5), "improved"),
        ((0.5, 0.5), "no_effect"),
        ((0.6, 0.2), "regressed"),
    ):
        assigned = arms(TRIAL, spread(400, *rates), by_rule())
        effect = trial_effect(SUBJECT, TRIAL, assigned, POLICY, NOW)
        assert (effect.method, effect.verdict) == ("trial", verdict)
        assert effect.groups["given"].sessions + effect.groups["held"].sessions == 400
        assert effect.difference is not None
        assert effect.difference.estimate == pytest.approx(rates[0] - rates[1], abs=0.04)


@pytest.mark.rows("MEA-02")
@pytest.mark.parametrize("shown", [0.0, 0.5, 1.0])
def test_a_trial_with_an_empty_arm_has_no_verdict(shown: float) -> None:
    for empty in (True, False):
        seen = [one for one in spread(400, shown, shown) if is_given(one.name, "p1") != empty]
        effect = trial_effect(SUBJECT, TRIAL, arms(TRIAL, seen, by_rule()), POLICY, NOW)
        assert (effect.verdict, effect.difference) == ("insufficient_data", None)
        assert effect.groups["given" if empty else "held"].sessions == 0
        assert effect.needs is None or effect.needs > 0


def test_only_sessions_that_were_assigned_by_chance_take_part() -> None:
    seen = spread(60, 0.5, 0.5)
    seen += [session("early", SINCE - DAY, True), session("silent", SINCE + DAY, True)]

    def recorded(flavor: str, name: str) -> list[tuple[int, tuple[str, ...], tuple[str, ...]]]:
        if name == "silent":
            return [(SINCE, ("other",), ())]
        if name == "s0":  # an older hook gave it to everybody
            wrong = (section_id("p1"),)
            return [(SINCE, (), wrong) if is_given(name, "p1") else (SINCE, wrong, ())]
        return list(by_rule()(flavor, name))

    assigned = arms(TRIAL, seen, recorded)
    assert len(assigned.given) + len(assigned.held) == 59
    assert assigned.left_out == {
        "given against its arm": 1,
        "not in the trial: no hook told of it": 1,
    }
    assert all(is_given(one.name, "p1") for one in assigned.given)


def test_a_stopped_trial_takes_no_more_sessions() -> None:
    ended = Trial("p1", 1, SINCE, SINCE + 30_000)
    assigned = arms(ended, spread(60, 0.5, 0.5), by_rule())
    assert len(assigned.given) + len(assigned.held) == 30


def test_trials_start_once_stop_once_and_survive_their_file(tmp_path: Path) -> None:
    trials = start((), "p1", 3, 10)
    with pytest.raises(Refused):
        start(trials, "p1", 3, 11)
    trials = start(stop(trials, "p1", 20), "p1", 4, 30)
    assert trials == (Trial("p1", 3, 10, 20), Trial("p1", 4, 30))
    assert under_trial(trials) == {"p1": trials[1]}
    with pytest.raises(NotFound):
        stop(trials, "p2", 40)
    write_trials(tmp_path, trials)
    assert read_trials(tmp_path) == trials
    assert (tmp_path / TRIALS).stat().st_mode & 0o777 == 0o600
    (tmp_path / TRIALS).write_bytes(b"{")
    with pytest.raises(Refused):
        read_trials(tmp_path)


def test_no_trials_are_an_empty_list(tmp_path: Path) -> None:
    assert read_trials(tmp_path) == ()
    write_trials(tmp_path, ())
    assert read_trials(tmp_path) == ()
