"""What came and went since the last pack."""

from __future__ import annotations

import pytest
from tests.recall.store_builder import DAY, HOUR, START, Memory, plain
from tests.recall.test_open_work import two

from session_memory.recall.recent_changes import recent_changes
from session_memory.recall.requests import ScopeRequest
from session_memory.store.scopes import ContextSync

__all__ = ["two"]

BASELINES = [
    ([-HOUR, HOUR // 2], HOUR // 2, "sync_before_latest_meaningful_change"),
    ([2 * HOUR, 3 * HOUR, 4 * HOUR], 3 * HOUR, "previous_successful_context_sync"),
    ([2 * HOUR], 2 * HOUR, "last_successful_context_sync"),
    ([], 0, "project_start"),
]


@pytest.mark.rows("OPS-07")
@pytest.mark.parametrize(("syncs", "since", "source"), BASELINES)
def test_changes_count_from_the_last_file_that_lacks_them(
    memory: Memory, two: tuple[int, int], syncs: list[int], since: int, source: str
) -> None:
    project = memory.store.projects()[0].id
    for at in syncs:
        memory.store.syncs.record(project, ContextSync(START + at, "/f", "0" * 64))
    skipped = ContextSync(START + HOUR // 2 + 1, "/f", "0" * 64, True, "why")
    memory.store.syncs.record(project, skipped)
    answer = plain(recent_changes(memory.context, ScopeRequest("shop")))
    assert answer["baseline_source"] == source
    assert (
        answer["since"] == f"2026-03-02T{9 + since // HOUR:02d}:{since % HOUR // 60000:02d}:00.000Z"
    )


@pytest.mark.rows("OPS-07")
def test_changes_name_what_came_and_what_went(memory: Memory) -> None:
    memory.session(
        "before",
        ("objective", "Ship the old roof"),
        ("pending_item", "buy tiles"),
        ("pending_item", "buy nails"),
        ("blocker", "the crane is broken"),
        ("project_dod", "the inspector signed"),
        ("constraint", "Never work in rain"),
    )
    project = memory.store.projects()[0].id
    memory.store.syncs.record(project, ContextSync(START + HOUR, "/f", "0" * 64))
    memory.session(
        "after",
        ("user_request", "Now the new roof, please"),
        ("objective", "Ship the new roof"),
        ("completed_item", "buy tiles"),
        ("completed_item", "the crane is broken"),
        ("completed_item", "the inspector signed"),
        ("pending_item", "call the painter"),
        ("blocker", "no paint left"),
        ("mission_dod", "the paint is dry"),
        ("constraint", "Only green paint"),
        ("decision", "Use two coats"),
        at=2 * HOUR,
    )
    answer = plain(recent_changes(memory.context, ScopeRequest("shop")))

    def texts(name: str) -> list[str]:
        return [item["text"] for item in answer[name]]

    assert answer["objective_changed"] is True
    assert answer["has_changes"] is True
    assert answer["latest_user_request"]["text"] == "Now the new roof, please"
    assert texts("new_pending_items") == ["call the painter"]
    assert texts("resolved_pending_items") == ["buy tiles"]
    assert texts("new_blockers") == ["no paint left"]
    assert texts("cleared_blockers") == ["the crane is broken"]
    assert texts("new_dod_gaps") == ["the paint is dry"]
    assert texts("cleared_dod_gaps") == ["the inspector signed"]
    assert texts("new_constraints") == ["Only green paint"]
    assert texts("cleared_constraints") == []
    assert texts("new_decisions") == ["Use two coats"]
    memory.store.syncs.record(project, ContextSync(START + DAY, "/f", "0" * 64))
    memory.store.syncs.record(project, ContextSync(START + 2 * DAY, "/f", "0" * 64))
    later = plain(recent_changes(memory.context, ScopeRequest("shop")))
    assert later["baseline_source"] == "sync_before_latest_meaningful_change"
