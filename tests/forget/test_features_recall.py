"""What was recorded of a session or project goes with it."""

from __future__ import annotations

from tests.recall.store_builder import HOUR, START, Memory

from session_memory.recall.completion_check import completion_check
from session_memory.recall.requests import ScopeRequest
from session_memory.store.scopes import ContextSync


def test_closures_and_syncs_go_with_their_session_and_project(memory: Memory) -> None:
    one = memory.session("a", ("pending_item", "x"), ("completion_claim", "All done"))
    other = memory.session("b", ("pending_item", "y"), at=HOUR)
    project = memory.store.projects()[0].id
    for session in (one, other, None):
        completion_check(memory.context, ScopeRequest("shop", session))
    memory.store.syncs.record(project, ContextSync(START, "/work/shop/AGENTS.md", "0" * 64))

    def kept() -> list[tuple[object, ...]]:
        return memory.select("SELECT kind, session_id FROM closure_check ORDER BY id")

    assert kept() == [("mismatch", one), ("check", one), ("check", other), ("check", None)]
    memory.store.forget_sessions({one})
    assert kept() == [("check", other), ("check", None)]
    assert len(memory.store.syncs.all(project)) == 1
    memory.store.forget_sessions({other})
    assert kept() == []
    assert memory.select("SELECT count(*) FROM context_sync") == [(0,)]
    memory.store.erase_traces()
    assert memory.store.traces("/work/shop/AGENTS.md") == []
