"""Totals that travel from one process to another stay exact."""

from __future__ import annotations

import pickle

import msgspec
import pytest

from session_memory.core.loop.patterns import Mined, Signal, pattern_id
from session_memory.core.schema import RuleStatement
from session_memory.detect.fold import Fold
from session_memory.detect.names import Names


def evidence(usd: float) -> list[Mined]:
    """Two sessions that show the same, and a user who says something."""
    failed = Signal(pattern_id("failing_command", "npm ci"), "failing_command", "npm ci",
                    usd=usd, minutes=0.1, quote="npm ci", seq=3, at=5)  # fmt: skip
    text = "always use uv"
    said = Signal(pattern_id("stated_rule", text), "stated_rule", text, quote=text, at=6,
                  said=RuleStatement(text, 4, 6, "always", True, "for"))  # fmt: skip
    return [
        Mined(2, 2, "codex", "b", "repo", 7, (failed, said)),
        Mined(1, 1, "claude", "a", "repo", 6, (failed, said)),
    ]


@pytest.mark.rows("FLT-01")
@pytest.mark.parametrize("usd", [0.25, 1e12])  # billionths of the second need more than 64 bits
def test_totals_are_the_same_after_travelling(usd: float) -> None:
    here = Fold(Names())
    here.add_all(evidence(usd))
    there: Fold = pickle.loads(pickle.dumps(here))
    expected = [msgspec.json.encode(one) for one in here.candidates({}, 1)]
    assert [msgspec.json.encode(one) for one in there.candidates({}, 1)] == expected
    assert len(expected) == 2
