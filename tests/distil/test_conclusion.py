"""What is kept of an answer: the sentences that say what was done about the request."""

from __future__ import annotations

import pytest

from session_memory.distil.conclusion import conclusion

pytestmark = pytest.mark.rows("OBS-13")


def test_what_leads_up_to_the_answer_is_left_out() -> None:
    answer = "All tests pass. Here's a summary of the fix:\n\nThe cart now rounds in `total.py`."
    assert conclusion(answer, "the cart shows cents", 320) == "The cart now rounds in `total.py`."


def test_of_a_list_the_items_about_the_request_are_told_and_problems_are_not() -> None:
    answer = """Perfect! Let me create a summary of the fixes:

### Issues Found

1. **Wrong width** - Lines were not padded
2. **No newline handling** - Text did not stop at newlines

### Fixes Applied

1. **Pad lines**: empty lines are padded to the full width of the terminal, as all others are
2. **Reset colours**: a reset code is put before the dots, so that no style leaks out of it
3. **Stop at newlines**: only the first line is shown
"""
    told = conclusion(answer, "truncated text must stop at a newline", 120)
    assert "Stop at newlines" in told
    assert "Wrong width" not in told
    assert "did not stop" not in told


def test_keys_and_counts_of_one_run_are_not_told() -> None:
    answer = """## New `shop list` command

**Navigation:**
- `up/k`, `down/j` - Navigate

**Results:**
- **Agent lines: 4** - in main.py

The list shows the open carts of the shop.
"""
    told = conclusion(answer, "show the open carts", 320)
    assert told == "New `shop list` command. The list shows the open carts of the shop."


def test_a_condition_in_several_lines_is_told_whole() -> None:
    answer = "A cart is open if:\n- it has an owner, OR\n- it has items\n"
    assert conclusion(answer, "", 320) == "A cart is open if: it has an owner, OR it has items"
