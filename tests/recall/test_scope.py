"""Which lane or session a question means, and that nothing is given where that is not sure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.recall.store_builder import HOUR, ROOT, Memory, plain

from session_memory.core.project.identity import Resolution
from session_memory.errors import ScopeMismatch, SessionMemoryError
from session_memory.recall.bootstrap_context import bootstrap_context
from session_memory.recall.completion_check import completion_check
from session_memory.recall.context import RecallContext
from session_memory.recall.context_pack import context_pack
from session_memory.recall.open_work import open_work
from session_memory.recall.project_brief import project_brief
from session_memory.recall.recent_changes import recent_changes
from session_memory.recall.requests import (
    BootstrapRequest,
    PackRequest,
    ScopeRequest,
)
from session_memory.recall.scope_guard import scope_guard


@pytest.fixture
def two(memory: Memory) -> tuple[int, int]:
    """Sessions in two lanes of one project."""
    cart = memory.session(
        "ext-cart", ("user_request", "Fix the discount"), ("pending_item", "cart: round totals"),
        cwd=f"{ROOT}/cart",
    )  # fmt: skip
    mail = memory.session(
        "ext-mail", ("user_request", "Send receipts"), ("pending_item", "mail: add a footer"),
        cwd=f"{ROOT}/mailer", at=HOUR,
    )  # fmt: skip
    return cart, mail


@pytest.mark.rows("SCP-02")
def test_a_first_call_without_a_hint_gets_no_pack_of_several_lanes(
    memory: Memory, two: tuple[int, int]
) -> None:
    answer = plain(bootstrap_context(memory.context, BootstrapRequest("shop")))
    assert answer["context_pack"] is None
    assert answer["do_not_fetch_project_wide_pack"] is True
    assert answer["scope_resolution"]["do_not_fetch_project_wide_pack"] is True
    assert answer["selection_mode"] == "needs_narrowing"
    assert len(answer["scope_resolution"]["candidate_lanes"]) == 2


@pytest.mark.rows("SCP-03")
@pytest.mark.parametrize("hint", ["cart", "ext-cart", "work on the cart discount"])
def test_a_hint_finds_its_lane_but_never_selects_a_session(
    memory: Memory, two: tuple[int, int], hint: str
) -> None:
    answer = plain(bootstrap_context(memory.context, BootstrapRequest("shop", thread_hint=hint)))
    assert answer["selection_mode"] == "lane_needs_session_selection"
    assert answer["context_pack"] is None
    assert answer["session_id"] is None
    scope = answer["scope_resolution"]["recommended_scope"]
    assert scope["inferred_sub_scope"] == "cart"
    assert set(scope) == {"inferred_sub_scope", "confidence", "score"}
    assert answer["scope_resolution"]["candidate_lanes"][0]["inferred_sub_scope"] == "cart"


@pytest.mark.rows("SCP-04")
def test_a_session_gets_its_own_pack(memory: Memory, two: tuple[int, int]) -> None:
    cart, _ = two
    answer = plain(bootstrap_context(memory.context, BootstrapRequest("shop", session_id=cart)))
    assert answer["selection_mode"] == "explicit_session_id"
    assert answer["scope_resolution"] is None
    assert answer["context_pack"]["stats"]["session_filter_applied"] is True
    assert "round totals" in answer["context_pack"]["text"]
    assert "footer" not in str(answer["context_pack"])


@pytest.mark.rows("SCP-05", "SCP-06")
def test_one_session_is_a_thread_and_two_of_one_lane_are_not(memory: Memory) -> None:
    memory.session("one", ("pending_item", "paint it"))
    single = plain(bootstrap_context(memory.context, BootstrapRequest("shop")))
    assert single["selection_mode"] == "project_wide"
    assert single["do_not_fetch_project_wide_pack"] is False
    assert "paint it" in single["context_pack"]["text"]
    memory.session("two", ("pending_item", "wash it"), at=HOUR)
    both = plain(bootstrap_context(memory.context, BootstrapRequest("shop")))
    assert both["do_not_fetch_project_wide_pack"] is True
    assert both["context_pack"] is None
    assert both["scope_resolution"]["multiple_lanes_detected"] is False


@pytest.mark.rows("SCP-07")
def test_a_hint_nothing_speaks_for_finds_nothing(memory: Memory, two: tuple[int, int]) -> None:
    request = BootstrapRequest("shop", hint="zzz-nothing")
    answer = plain(bootstrap_context(memory.context, request))
    assert answer["scope_resolution"]["routing_decision"] == "no_match"
    assert answer["scope_resolution"]["recommended_scope"] is None
    assert answer["context_pack"] is None
    assert answer["do_not_fetch_project_wide_pack"] is True
    assert len(answer["scope_resolution"]["candidate_lanes"]) == 2


SCOPED: dict[str, Callable[[RecallContext, str | None, int], Any]] = {
    "pack": lambda recall, key, one: context_pack(recall, PackRequest(key, one)),
    "bootstrap": lambda recall, key, one: bootstrap_context(
        recall, BootstrapRequest(key, session_id=one)
    ),
    "brief": lambda recall, key, one: project_brief(recall, ScopeRequest(key, one)),
    "open_work": lambda recall, key, one: open_work(recall, ScopeRequest(key, one)),
    "check": lambda recall, key, one: completion_check(recall, ScopeRequest(key, one)),
    "guard": lambda recall, key, one: scope_guard(recall, ScopeRequest(key, one)),
    "changes": lambda recall, key, one: recent_changes(recall, ScopeRequest(key, one)),
}
BARN = Resolution(key="barn", root="/work/barn", source="cwd:.git", confidence="high")


@pytest.mark.rows("SCP-11")
@pytest.mark.parametrize("tool", SCOPED)
def test_a_session_of_another_project_is_refused_by_every_tool(memory: Memory, tool: str) -> None:
    memory.session("a", ("pending_item", "secret of the shop"))
    other = memory.session(
        "b", ("pending_item", "secret of the barn"), cwd="/work/barn", project=BARN
    )
    with pytest.raises(ScopeMismatch, match="Session not found for project") as caught:
        SCOPED[tool](memory.context, "shop", other)
    assert str(other) in caught.value.message
    assert "'shop'" in caught.value.message
    output = f"{caught.value.message} {caught.value.hint}"
    assert "secret" not in output
    assert "barn" not in output
    assert memory.select("SELECT count(*) FROM closure_check") == [(0,)]
    with pytest.raises(ScopeMismatch, match="Session not found for project"):
        SCOPED[tool](memory.context, "shop", 4711)


@pytest.mark.rows("SCP-12")
@pytest.mark.parametrize("tool", SCOPED)
def test_a_session_alone_is_answered_alone_and_its_project_named(memory: Memory, tool: str) -> None:
    memory.session("a", ("pending_item", "words of a"))
    other = memory.session("b", ("pending_item", "words of b"), at=HOUR)
    answer = plain(SCOPED[tool](memory.context, None, other))
    assert "words of a" not in str(answer)
    assert "words of b" in str(answer)
    named = answer["project"] if tool == "brief" else answer
    assert named["project_key"] == "shop"
    with pytest.raises(SessionMemoryError, match="not found"):
        SCOPED[tool](memory.context, None, 4711)
