"""What an answer says is left to do, in every spelling of its label."""

from __future__ import annotations

import pytest

from session_memory.distil.plans import todos_in


@pytest.mark.parametrize(
    "label",
    [
        *("todo", "open", "remaining", "still open", "follow-up", "followup", "follow-ups"),
        *("followups", "not done"),
    ],
)
def test_every_label_of_what_is_left_is_found_in_every_spelling(label: str) -> None:
    for name in (label, label.upper(), label.capitalize()):
        for line in ("{}: write the docs", "- **{}:** write the docs", "_{}_ : write the docs"):
            assert todos_in(f"See this: there\n{line.format(name)}\n") == ["write the docs"]
