"""The brief of a project or of one session."""

from __future__ import annotations

import pytest
from tests.recall.store_builder import Memory, plain
from tests.recall.test_open_work import two

from session_memory.recall.project_brief import project_brief
from session_memory.recall.requests import ScopeRequest

__all__ = ["two"]


@pytest.mark.rows("OPS-03")
def test_the_counts_of_a_brief_are_of_its_scope(memory: Memory, two: tuple[int, int]) -> None:
    whole = plain(project_brief(memory.context, ScopeRequest("shop")))["counts"]
    one = plain(project_brief(memory.context, ScopeRequest("shop", two[0])))["counts"]
    assert whole == {"sessions": 2, "turns": 2, "observations": 5, "active_decisions": 3}
    assert one == {"sessions": 1, "turns": 1, "observations": 2, "active_decisions": 1}
