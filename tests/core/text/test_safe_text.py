"""A fence cannot be broken from inside, and nothing stored can drive a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from session_memory.core.text.safe_text import fence, safe, stripped

MARKER = "0123456789abcdef"
HOSTILE = st.lists(
    st.sampled_from(
        [MARKER, MARKER[:8], MARKER[8:], "<<<", ">>>", "end of memory ", "\n", "\x1b[2J", "\u202e"]
    )
    | st.text(max_size=6)
).map("".join)


@given(HOSTILE)
def test_the_fence_is_never_broken(text: str) -> None:
    lines = fence(text, MARKER).split("\n")
    assert lines[0].startswith(f"<<<memory {MARKER}")
    assert lines[-1] == f"<<<end of memory {MARKER}>>>"
    assert not any(MARKER in line for line in lines[1:-1])


def test_halves_that_would_join_are_taken_out_too() -> None:
    text = MARKER[:8] + MARKER + MARKER[8:]
    assert fence(text, MARKER).count(MARKER) == 2


@given(st.text())
def test_stripped_text_holds_nothing_a_terminal_obeys(text: str) -> None:
    assert safe(stripped(text)) == stripped(text)


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("a\u202eb\u200bc", "abc"),
        ("tab\tand\nline", "tab\tand\nline"),
    ],
)
def test_escapes_and_invisible_characters_go(raw: str, clean: str) -> None:
    assert stripped(raw) == clean
