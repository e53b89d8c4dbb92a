"""Texts cut to fit a prompt keep their beginning and their end, in whole characters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_memory.model.cut import Cut, cut, prefix, suffix

MARKER = "\n\n[... ROLLOUT TRUNCATED FOR MEMORY EXTRACTION ...]\n\n"


@pytest.mark.rows("EXT-18")
def test_a_long_text_keeps_a_third_from_its_head_and_the_rest_from_its_tail() -> None:
    text = "HEAD" + "x" * 1_399_998 + "TAIL"

    done = cut(text, 1_000_000, MARKER)

    head, tail = done.text.split(MARKER)
    assert done.truncated
    assert head.startswith("HEAD")
    assert tail.endswith("TAIL")
    assert len(done.text) <= 1_000_000
    room = 1_000_000 - len(MARKER)
    assert (len(head), len(tail)) == (room // 3, room - room // 3)


@pytest.mark.rows("EXT-19")
def test_a_cut_never_splits_a_character() -> None:
    assert prefix(("é" * 10).encode(), 5).decode() == "éé"
    assert suffix(("é" * 10).encode(), 5).decode() == "éé"


@pytest.mark.rows("EXT-18", "EXT-19")
@given(st.text(max_size=300), st.integers(0, 200), st.sampled_from(["", "…", MARKER]))
def test_whatever_is_cut_fits_and_decodes(text: str, limit: int, marker: str) -> None:
    done = cut(text, limit, marker)

    size = len(text.encode())
    assert done.truncated == (size > limit)
    assert len(done.text.encode()) <= max(limit, 0)
    if done.truncated and marker and marker in done.text:
        head, _, tail = done.text.partition(marker)
        assert text.startswith(head)
        assert text.endswith(tail)
        # Whole characters only: at most three bytes of each side's share are lost.
        room = limit - len(marker.encode())
        assert len(head.encode()) > room // 3 - 4
        assert len(tail.encode()) > room - room // 3 - 4


@pytest.mark.rows("EXT-20")
def test_a_text_at_the_limit_is_left_alone() -> None:
    assert cut("é" * 50, 100, MARKER) == Cut("é" * 50, truncated=False)
    assert cut("é" * 50, 99, MARKER).truncated
