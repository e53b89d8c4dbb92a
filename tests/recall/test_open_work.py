"""Open work, completion checks, guards, briefs and changes, of a project and of one session."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import msgspec
import pytest
from tests.recall.store_builder import HOUR, START, Memory, Word, observed, plain

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.core.project.identity import Resolution
from session_memory.core.work_state import derive_state, judge_closure
from session_memory.errors import ScopeMismatch
from session_memory.recall.completion_check import completion_check
from session_memory.recall.context import RecallContext
from session_memory.recall.context_pack import context_pack
from session_memory.recall.open_work import open_work
from session_memory.recall.project_brief import project_brief
from session_memory.recall.recent_changes import recent_changes
from session_memory.recall.requests import (
    ANSWER_BYTES,
    PackRequest,
    ScopeRequest,
)
from session_memory.recall.scope_guard import scope_guard
from session_memory.store import open_store
from session_memory.testing.workspace import Workspace

TOOLS: dict[str, Callable[[RecallContext, ScopeRequest], msgspec.Struct]] = {
    "brief": project_brief,
    "open_work": open_work,
    "check": completion_check,
    "guard": scope_guard,
    "changes": recent_changes,
}


@pytest.fixture
def two(memory: Memory) -> tuple[int, int]:
    one = memory.session("a", ("pending_item", "buy tiles"), ("decision", "Use slate"))
    other = memory.session(
        "b",
        ("pending_item", "buy paint"),
        ("decision", "Use green"),
        ("decision", "Use two coats"),
        at=HOUR,
    )
    return one, other


@pytest.mark.rows("OPS-01")
def test_open_work_of_one_session_holds_nothing_of_another(
    memory: Memory, two: tuple[int, int]
) -> None:
    answer = plain(open_work(memory.context, ScopeRequest("shop", two[0])))
    assert [item["text"] for item in answer["pending_items"]] == ["buy tiles"]
    assert answer["session_filter"] == {"session_id": two[0], "external_session_id": "a"}
    assert "paint" not in str(answer)


@pytest.mark.rows("OPS-02")
@pytest.mark.parametrize("tool", TOOLS)
def test_without_a_session_the_whole_project_answers(
    memory: Memory, two: tuple[int, int], tool: str
) -> None:
    answer = plain(TOOLS[tool](memory.context, ScopeRequest("shop")))
    assert "buy tiles" in str(answer)
    assert "buy paint" in str(answer)
    assert answer.get("session_filter") is None


@pytest.mark.rows("OPS-02")
@pytest.mark.parametrize("tool", TOOLS)
def test_with_a_session_only_that_session_answers(
    memory: Memory, two: tuple[int, int], tool: str
) -> None:
    answer = plain(TOOLS[tool](memory.context, ScopeRequest("shop", two[1])))
    assert "buy paint" in str(answer)
    assert "tiles" not in str(answer)
    assert answer["session_filter"] == {"session_id": two[1], "external_session_id": "b"}
    alone = plain(TOOLS[tool](memory.context, ScopeRequest(None, two[1])))
    assert alone["session_filter"] == answer["session_filter"] and "tiles" not in str(alone)


@pytest.mark.rows("OPS-02")
@pytest.mark.parametrize("tool", TOOLS)
def test_a_wrong_pair_is_an_error_and_leaves_no_record(
    memory: Memory, two: tuple[int, int], tool: str
) -> None:
    other = Resolution(key="hangar", root="/work/hangar", source="cwd:.git", confidence="high")
    foreign = memory.session("c", ("pending_item", "buy wings"), cwd="/work/hangar", project=other)
    for wrong in (foreign, foreign + 1):  # of another project, and of none
        with pytest.raises(ScopeMismatch, match="Session not found for project") as refused:
            TOOLS[tool](memory.context, ScopeRequest("shop", wrong))
        output = f"{refused.value.message} {refused.value.hint}"
        assert str(wrong) in output and "shop" in output
        assert not any(word in output for word in ("buy", "hangar", "slate"))
    with pytest.raises(ScopeMismatch):
        TOOLS[tool](memory.context, ScopeRequest("hangar", two[0]))
    assert memory.select("SELECT count(*) FROM closure_check") == [(0,)]


@pytest.mark.rows("OPS-04")
def test_done_takes_nothing_open_and_some_evidence() -> None:
    given: tuple[tuple[Word, str], ...] = (
        (("pending_item", "buy tiles"), "pending_items_open"),
        (("blocker", "the crane is broken"), "blockers_open"),
        (("project_dod", "the inspector signed"), "dod_incomplete"),
    )
    for held in product((False, True), repeat=4):
        *opened, evidence = held
        words = [word for (word, _), there in zip(given, opened, strict=True) if there]
        reasons = [reason for (_, reason), there in zip(given, opened, strict=True) if there]
        if evidence:
            words.append(("completed_item", "took off the old roof"))
        else:
            reasons.append("missing_evidence")
        state = derive_state([observed(1, word[0], word[1]) for word in words])
        verdict = judge_closure(state)
        assert verdict.done is (not reasons)
        assert list(verdict.reasons) == reasons
        assert verdict.primary == (reasons[0] if reasons else "ready_to_close")
        assert verdict.mismatch is False


@pytest.mark.rows("OPS-04")
def test_a_done_project_says_so(memory: Memory) -> None:
    memory.session("a", ("pending_item", "buy tiles"), ("completed_item", "buy tiles"))
    answer = plain(completion_check(memory.context, ScopeRequest("shop")))
    assert answer["done"] is True
    assert answer["primary_reason"] == "ready_to_close"
    assert answer["reasons"] == []
    assert answer["evidence_count"] == 1


@pytest.mark.rows("OPS-05")
def test_a_claim_over_open_work_is_noticed_when_the_log_is_read(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    log = ClaudeLog(1, cwd=str(tmp_path))
    log.prompt("Please port the reader to the new format, with docs.")
    log.say("Pending: write the docs\n\nStatus: complete")
    space.write(log)
    space.sweep()

    def noticed() -> list[tuple[str, bool]]:
        with space.store() as store:
            session = store.find_session(log.session_id)
            assert session.project_id is not None
            found = store.closures.all(session.project_id)
            return [(one.kind, one.done) for one in found]

    assert noticed() == [("mismatch", False)]
    with space.store() as store:
        key = store.find_session(log.session_id).project_key
        context = RecallContext(store, lambda: space.now, read_only=True)
        answer = completion_check(context, ScopeRequest(key))
    assert answer.closure_mismatch is True
    assert answer.primary_reason == "pending_items_open"
    log.prompt("What is the weather like in the capital today?")
    space.write(log)
    space.sweep()
    assert noticed() == [("mismatch", False)]  # read again, and still one
    log.say("Done: write the docs")
    space.write(log)
    space.sweep()
    assert noticed() == []  # the claim holds now


@pytest.mark.rows("OPS-06")
def test_a_check_is_recorded_unless_read_only(memory: Memory, two: tuple[int, int]) -> None:
    completion_check(memory.context, ScopeRequest("shop"))
    completion_check(memory.context, ScopeRequest("shop", two[0]))
    count = "SELECT kind, session_id, done, reason FROM closure_check ORDER BY id"
    rows = [("check", None, 0, "pending_items_open"), ("check", two[0], 0, "pending_items_open")]
    assert memory.select(count) == rows
    with open_store(str(memory.directory), START, read_only=True) as store:
        context = RecallContext(store, lambda: START, read_only=True)
        completion_check(context, ScopeRequest("shop"))
    assert memory.select(count) == rows


def test_answers_of_a_crowded_project_fit_what_clients_take(memory: Memory) -> None:
    kinds = ("pending_item", "blocker", "constraint", "decision", "completed_item", "objective")
    for number in range(12):
        words: list[Word] = [
            (kind, f"{kind} {number} {place} " + "wörter " * 50)
            for kind in kinds
            for place in range(4)
        ]
        memory.session(f"s{number}", *words, cwd=f"/work/shop/lane{number}", at=number * HOUR)
    for tool in TOOLS:
        answer = TOOLS[tool](memory.context, ScopeRequest("shop"))
        assert len(msgspec.json.encode(answer)) <= ANSWER_BYTES, tool
    pack = context_pack(memory.context, PackRequest("shop", budget="full"))
    assert len(msgspec.json.encode(pack)) <= ANSWER_BYTES + 500
