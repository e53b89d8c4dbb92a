"""Effects in the store, and the history of what was given."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.measure.measured_sessions import GIVEN, NOW, POLICY, SUBJECT, row

from session_memory.core.loop.givings import Given, renewed
from session_memory.errors import Refused
from session_memory.measure.effect import before_after
from session_memory.store import open_store
from session_memory.store.derived import DERIVED
from session_memory.store.given_files import GIVEN as FILE
from session_memory.store.given_files import note_given, read_given


def test_the_latest_figures_are_kept_for_each_version_and_method(tmp_path: Path) -> None:
    timeline = row(40, 20, after=False) + row(40, 4, after=True)
    first = before_after(SUBJECT, timeline, GIVEN, POLICY, NOW)
    later = replace(first, measured_at=NOW + 1, verdict="no_effect")
    second = replace(first, version=2)
    trial = replace(first, method="trial")
    with open_store(str(tmp_path), NOW, create_missing=True) as store:
        store.effects.save([first, second])
        store.effects.save([later, trial])
    with open_store(str(tmp_path), NOW) as store:
        assert store.effects.all() == [later, trial, second]
    assert not DERIVED["effect"].holds_text


def test_what_is_new_begins_what_is_gone_ends_and_the_rest_goes_on(tmp_path: Path) -> None:
    one, other = ("p1", "shop"), ("p2", "shop")
    note_given(tmp_path, [one, other], {one: 1, other: 1}, 10)
    note_given(tmp_path, [one, other], {one: 2}, 20)
    note_given(tmp_path, [one], {}, 30)
    note_given(tmp_path, [one, other], {one: 2, other: 1}, 40)
    assert read_given(tmp_path) == (
        Given("p1", 1, "shop", 10, 20),
        Given("p2", 1, "shop", 10, 30),
        Given("p1", 2, "shop", 20),
        Given("p2", 1, "shop", 40),
    )
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    (tmp_path / FILE).write_text("[1]", encoding="utf-8")
    with pytest.raises(Refused):
        read_given(tmp_path)


NAMES = st.tuples(st.sampled_from("ab"), st.integers(1, 2), st.sampled_from("xy"))


@settings(max_examples=100)
@given(st.lists(st.frozensets(NAMES), max_size=8))
def test_the_history_always_tells_what_stands_now(
    runs: list[frozenset[tuple[str, int, str]]],
) -> None:
    history: tuple[Given, ...] = ()
    for now, standing in enumerate(runs):
        history = renewed(history, standing, now)
        open_ones = [
            (one.pattern_id, one.version, one.repo) for one in history if one.until is None
        ]
        assert sorted(open_ones) == sorted(standing)
        assert renewed(history, standing, now + 1) == history
