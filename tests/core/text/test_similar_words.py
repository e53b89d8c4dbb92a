"""How many slips two words are apart."""

from __future__ import annotations

import pytest

from session_memory.core.text.similar_words import distance


@pytest.mark.parametrize(
    ("one", "other", "slips"),
    [("", "", 0), ("heron", "heron", 0), ("heron", "hreon", 1), ("heron", "hero", 1),
     ("heron", "haron", 1), ("heron", "pelican", 5)],
)  # fmt: skip
def test_slips_are_counted(one: str, other: str, slips: int) -> None:
    assert distance(one, other) == distance(other, one) == slips
