"""What an agent is warned of before it takes work for its own."""

from __future__ import annotations

import pytest
from tests.recall.store_builder import HOUR, Memory, plain
from tests.recall.test_scope import BARN, two

from session_memory.recall.requests import ScopeRequest
from session_memory.recall.scope_guard import scope_guard

__all__ = ["two"]


@pytest.mark.rows("OPS-08")
def test_the_guard_keeps_five_texts_and_flags_what_conflicts(memory: Memory) -> None:
    memory.session(
        "a",
        ("objective", "Ship the new roof"),
        ("constraint", "Never work in rain"),
        ("pending_item", "buy tiles"),
        ("blocker", "the crane is broken"),
        ("project_dod", "the inspector signed"),
        ("completion_claim", "All done"),
    )
    memory.session("b", ("pending_item", "buy tiles"), ("pending_item", "Never work in rain"))
    answer = plain(scope_guard(memory.context, ScopeRequest("shop")))
    assert sorted(answer["must_not_drop"]) == [
        "Never work in rain",
        "Ship the new roof",
        "buy tiles",
        "the crane is broken",
        "the inspector signed",
    ]
    assert answer["conflict_flags"] == [
        "closure_mismatch",
        "pending_work_open",
        "blockers_open",
        "dod_incomplete",
    ]
    memory.session("c", ("completed_item", "x"), at=HOUR)
    other = plain(scope_guard(memory.context, ScopeRequest("shop", 3)))
    assert other["must_not_drop"] == []
    assert other["conflict_flags"] == []


@pytest.mark.rows("SCP-14")
def test_the_guard_warns_of_lanes_or_of_sessions(memory: Memory, two: tuple[int, int]) -> None:
    lanes = plain(scope_guard(memory.context, ScopeRequest("shop")))
    assert lanes["scope_warning"]["code"] == "multi_lane_project_scope"
    memory.session("b1", cwd="/work/barn", project=BARN)
    memory.session("b2", cwd="/work/barn", project=BARN)
    sessions = plain(scope_guard(memory.context, ScopeRequest("barn")))
    assert sessions["scope_warning"]["code"] == "multi_session_project_scope"
    for answer in (lanes, sessions):
        steps = " ".join(answer["recommended_narrowing"]["next_steps"])
        assert "mem_session_list" in steps
        assert "mem_bootstrap_context" in steps
        assert answer["do_not_fetch_project_wide_pack"] is True
        assert answer["candidate_lanes"]
    scoped = plain(scope_guard(memory.context, ScopeRequest("shop", two[0])))
    assert scoped["broad_scope_detected"] is False
    assert scoped["session_filter"]["session_id"] == two[0]
    assert "scope_warning" not in scoped
    assert "recommended_narrowing" not in scoped
