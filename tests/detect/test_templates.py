"""Texts that differ in what varies are one message, whatever order they come in."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.bench.templates import accuracy, read

from session_memory.detect.templates import group

WORDS = st.sampled_from(["open", "file", "failed", "user", "7", "abc.txt", "for", "'x y'", "="])
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=6).map(" ".join), max_size=20)


def test_messages_are_grouped_by_what_is_constant() -> None:
    texts = ["cannot open file a.txt now", "cannot open file b.txt now", "no user named bob here"]
    assert [len(one.members) for one in group(texts)] == [2, 1]


def test_another_flag_is_another_message() -> None:
    texts = ["unknown flag for it: --json", "unknown flag for it: --no-pager"]
    assert len(group(texts)) == 2


def test_texts_without_a_constant_word_are_not_alike() -> None:
    assert len(group(["a/b/c.py 7", "d/e/f.py 8"])) == 2


@settings(max_examples=50)
@given(TEXTS, st.randoms(use_true_random=False))
def test_order_and_repetition_change_nothing(texts: list[str], chance: object) -> None:
    shuffled = [*texts, *texts[:3]]
    chance.shuffle(shuffled)  # pyright: ignore
    assert [one.members for one in group(shuffled)] == [one.members for one in group(texts)]
    assert sorted(text for one in group(texts) for text in one.members) == sorted(set(texts))


def test_accuracy_counts_lines_whose_whole_group_is_right() -> None:
    right = [("open door 1", "a"), ("open door 2", "a"), ("close all windows please", "b")]
    assert accuracy(right) == 1.0
    assert accuracy([*right, ("open door 3", "c")]) == 0.25


@pytest.mark.shared
def test_labelled_lines_of_five_systems_are_grouped_well(shared: Path) -> None:
    found = [accuracy(read(path)) for path in sorted((shared / "bench").glob("loghub_*.csv"))]
    assert len(found) == 5 and sum(found) / len(found) > 0.85
