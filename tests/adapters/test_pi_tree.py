"""The branches of a pi session: all are kept, the one the user is on is told from the others."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.adapters.pi_reading import only, parse_log, said

from session_memory.adapters.pi.log_builder import PiLog, spent
from session_memory.adapters.pi.tree import Entry, live_places


def test_a_branch_that_was_left_stays_as_history(tmp_path: Path) -> None:
    log = PiLog()
    start = log.prompt("one")
    log.answer("wrong way", usage=spent(5, 1))
    log.run("rm x", "gone")
    log.back_to(start, "tried rm")
    log.answer("right way")
    assert said(parse_log(log, tmp_path)) == [
        ("user_prompt", None, "one"),
        ("other", "rewound", "wrong way"),
        ("other", "rewound", '{"command":"rm x"}'),
        ("other", "rewound", "gone"),
        ("injected", "branch_summary", "tried rm"),
        ("assistant_text", None, "right way"),
    ]
    # It was paid for all the same.
    assert sum(usage.input for usage in only(parse_log(log, tmp_path)).usages) == 205


def test_going_back_to_the_left_branch_makes_it_the_live_one(tmp_path: Path) -> None:
    log = PiLog()
    start = log.prompt("one")
    first = log.answer("a")
    log.back_to(start)
    log.answer("b")
    log.back_to(first)
    log.prompt("two")
    labels = {text: label for _, label, text in said(parse_log(log, tmp_path))}
    assert labels == {"one": None, "a": None, "b": "rewound", "two": None}


def test_a_first_prompt_edited_leaves_everything_before_it(tmp_path: Path) -> None:
    log = PiLog()
    log.prompt("one")
    log.answer("a")
    log.back_to(None)
    log.prompt("other one")
    labels = [label for _, label, _ in said(parse_log(log, tmp_path))]
    assert labels == ["rewound", "rewound", None]


@settings(max_examples=80)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-1, 12)), max_size=12))
def test_any_tree_ends_and_holds_its_last_entry(links: list[tuple[int, int]]) -> None:
    entries = [
        Entry(place, {"type": "message", "id": str(name), "parentId": str(to) if to >= 0 else None})
        for place, (name, to) in enumerate(links)
    ]
    live = live_places(entries)
    assert live <= set(range(len(entries)))
    assert not entries or len(entries) - 1 in live
