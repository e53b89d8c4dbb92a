"""What stands between private tags never gets past them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_memory.redact.private_tags import PRIVATE, drop_private


@pytest.mark.parametrize(
    ("text", "expected", "count"),
    [
        ("a <private>b</private> c", "a [PRIVATE] c", 1),
        ("a <PRIVATE>b\nb</Private > c", "a [PRIVATE] c", 1),
        ("<private>a</private><private>b</private>", "[PRIVATE][PRIVATE]", 2),
        ("a <private>b <private>c</private> d</private> e", "a [PRIVATE] e", 1),
        ("a <private>b <private>c</private> d", "a [PRIVATE]", 1),
        ("a <private>b", "a [PRIVATE]", 1),
        ("a </private> b", "a </private> b", 0),
        (
            "a </private> b <private>c</private></private> d",
            "a </private> b [PRIVATE]</private> d",
            1,
        ),
        ("<private></private>", "[PRIVATE]", 1),
        ("<privates>a</privates> <private/>", "<privates>a</privates> <private/>", 0),
    ],
)
def test_private_spans_go(text: str, expected: str, count: int) -> None:
    assert drop_private(text) == (expected, count)


def test_text_without_a_span_is_the_same_object() -> None:
    for text in ("", "plain", "a < b and </private>"):
        assert drop_private(text)[0] is text


@given(st.lists(st.sampled_from(["<private>", "</private>", "open ", "x"]), max_size=20))
def test_what_is_left_is_what_stood_outside(parts: list[str]) -> None:
    depth, outside = 0, 0
    for part in parts:
        if part == "<private>":
            depth += 1
        elif part == "</private>":
            depth = max(0, depth - 1)
        elif depth == 0:
            outside += 1
    left, count = drop_private("".join(parts))
    assert left.replace(PRIVATE, "").replace("</private>", "").count("open ") + left.count("x") == (
        outside
    )
    assert count == left.count(PRIVATE)
    assert "<private>" not in left


def test_a_text_of_nothing_but_tags_ends() -> None:
    """One pass: a search for the closing tag of each opening one would not come back."""
    text, count = drop_private("<private>" * 100_000 + "secret")
    assert (text, count) == (PRIVATE, 1)
