"""Open work, completion checks, guards, briefs and changes, of a project and of one session."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import msgspec
import pytest
from tests.recall.store_builder import DAY, HOUR, START, Memory, Word, observed, plain

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.core.project.identity import Resolution
from session_memory.core.work_state import derive_state, judge_closure
from session_memory.errors import ScopeMismatch
from session_memory.recall.completion_check import completion_check
from session_memory.recall.context import RecallContext
from session_memory.recall.context_pack import context_pack
from session_memory.recall.open_work import open_work
from session_memory.recall.project_brief import project_brief
from session_memory.recall.provenance import get, provenance
from session_memory.recall.recent_changes import recent_changes
from session_memory.recall.requests import (
    ANSWER_BYTES,
    ObservationRequest,
    PackRequest,
    ScopeRequest,
)
from session_memory.recall.scope_guard import scope_guard
from session_memory.store import open_store
from session_memory.store.scopes import ContextSync
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


@pytest.mark.rows("OPS-03")
def test_the_counts_of_a_brief_are_of_its_scope(memory: Memory, two: tuple[int, int]) -> None:
    whole = plain(project_brief(memory.context, ScopeRequest("shop")))["counts"]
    one = plain(project_brief(memory.context, ScopeRequest("shop", two[0])))["counts"]
    assert whole == {"sessions": 2, "turns": 2, "observations": 5, "active_decisions": 3}
    assert one == {"sessions": 1, "turns": 1, "observations": 2, "active_decisions": 1}


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


def test_an_observation_leads_to_where_it_was_said(tmp_path: Path) -> None:
    space = Workspace(tmp_path)
    log = ClaudeLog(1, cwd=str(tmp_path))
    log.prompt("Please port the reader to the new format, with docs.")
    log.say("Pending: write the docs")
    space.write(log)
    space.sweep()
    with space.store() as store:
        recall = RecallContext(store, lambda: space.now)
        key = store.projects()[0].key
        (item,) = open_work(recall, ScopeRequest(key)).pending_items
        found = provenance(recall, ObservationRequest(item.observation_id))
        assert get(recall, ObservationRequest(item.observation_id)).text == "write the docs"
        assert found.source_session.external_session_id == log.session_id
        assert found.source_span == "Pending: write the docs"
        assert found.source_turn is not None
        assert found.source_turn.kind == "assistant_text"
