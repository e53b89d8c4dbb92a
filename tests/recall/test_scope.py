"""Which lane or session a question means, and that nothing is given where that is not sure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from tests.recall.store_builder import HOUR, ROOT, Memory, plain

from session_memory.core.project.identity import Resolution
from session_memory.core.schema import Project
from session_memory.errors import NotFound, ScopeMismatch, SessionMemoryError
from session_memory.recall.bootstrap_context import bootstrap_context
from session_memory.recall.completion_check import completion_check
from session_memory.recall.context import RecallContext
from session_memory.recall.context_pack import context_pack
from session_memory.recall.lanes import is_lane_name, lane_of
from session_memory.recall.open_work import open_work
from session_memory.recall.project_brief import project_brief
from session_memory.recall.recent_changes import recent_changes
from session_memory.recall.requests import (
    BootstrapRequest,
    PackRequest,
    ScopeRequest,
    ScopeResolveRequest,
)
from session_memory.recall.routing import Hint, confidence, score, words_of
from session_memory.recall.scope_guard import scope_guard
from session_memory.recall.scope_resolve import scope_resolve
from session_memory.store.scopes import SessionLine

PROJECT = Project(1, "shop", ROOT)


def line(**fields: Any) -> SessionLine:
    """A session as the store lists it."""
    given: dict[str, Any] = {
        "id": 1,
        "flavor": "claude",
        "external_id": "abc-1",
        "project_id": 1,
        "started_at": 0,
        "ended_at": 0,
        "cwd": ROOT,
        "title": None,
        "client_version": None,
        "source_kind": "interactive",
        "parent": None,
        "low_value": None,
        "label": None,
        "suppressed": False,
        "resolved_by": "cwd:.git",
        **fields,
    }
    return SessionLine(**given)


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


@pytest.mark.rows("SCP-01")
def test_without_a_hint_lanes_are_named_and_none_is_chosen(
    memory: Memory, two: tuple[int, int]
) -> None:
    answer = plain(scope_resolve(memory.context, ScopeResolveRequest("shop")))
    assert answer["routing_decision"] == "needs_hint"
    assert answer["recommended_scope"] is None
    lanes = {lane["inferred_sub_scope"] for lane in answer["candidate_lanes"]}
    assert lanes == {"cart", "mailer"}
    assert "<thread or sub-scope>" in answer["recommended_call"]
    assert answer["do_not_fetch_project_wide_pack"] is True
    assert answer["writes_performed"] is False


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


@pytest.mark.rows("SCP-08")
def test_a_hint_that_fits_two_lanes_alike_is_ambiguous(
    memory: Memory, two: tuple[int, int]
) -> None:
    answer = plain(
        scope_resolve(memory.context, ScopeResolveRequest("shop", hint="cart and mailer"))
    )
    assert answer["routing_decision"] == "ambiguous"
    assert answer["recommended_scope"] is None
    assert [lane["top_score"] > 0 for lane in answer["candidate_lanes"]] == [True, True]


CART = {"cwd": f"{ROOT}/cart", "label": "Fix the rounding discount today quickly please"}
VECTORS: list[tuple[dict[str, Any], Hint, int, tuple[str, ...]]] = [
    ({}, Hint("abc-1", words_of("abc-1")), 220, ("external_session_id",)),
    (
        CART,
        Hint("cart", words_of("cart")),
        170,
        ("sub_scope_literal", "cwd_leaf_literal", "token_overlap"),
    ),
    (CART, Hint(directories=(f"{ROOT}/cart",)), 100, ("path_hint_exact",)),
    (CART, Hint(files=(f"{ROOT}/cart/total.py",)), 100, ("path_hint_exact",)),
    (CART, Hint("rounding", words_of("rounding")), 8, ("label_overlap",)),
    (
        CART,
        Hint("rounding discount today", words_of("fix rounding discount today quickly please")),
        40,
        ("label_overlap",),
    ),
    (
        {"cwd": f"{ROOT}/mail-queue-retry-jobs"},
        Hint("x", words_of("mail queue retry jobs")),
        90,
        ("token_overlap",),
    ),
    ({"cwd": ROOT}, Hint(files=(f"{ROOT}/a.py",)), 0, ()),
    (CART, Hint("nothing", words_of("nothing")), 0, ()),
]


@pytest.mark.rows("SCP-09")
@pytest.mark.parametrize(("fields", "hint", "points", "signals"), VECTORS)
def test_evidence_has_its_points(
    fields: dict[str, Any], hint: Hint, points: int, signals: tuple[str, ...]
) -> None:
    found = score(line(**fields), PROJECT, hint)
    assert (found.points, found.signals) == (points, signals)


@pytest.mark.rows("SCP-09")
def test_confidence_needs_points_and_a_lead() -> None:
    assert confidence(220, 0) == "high"
    assert confidence(150, 105) == "high"
    assert confidence(150, 106) == "medium"
    assert confidence(149, 0) == "medium"
    assert confidence(70, 70) == "medium"
    assert confidence(69, 0) == "low"
    assert confidence(0, 0) == "none"


@pytest.mark.rows("SCP-10")
def test_broad_and_noisy_names_are_no_lanes(memory: Memory) -> None:
    noise = ("src", "docs", "Tests", "workspace", "System32", "Users", "temp", "AGENTS.md")
    assert [name for name in (*noise, "policy", ".codex", "42") if is_lane_name(name)] == []
    assert lane_of(line(cwd=f"{ROOT}/src"), PROJECT).name == "shop"
    assert lane_of(line(cwd=f"{ROOT}/billing/src/tests"), PROJECT).name == "billing"
    bare = Project(2, "x", "/home/user/src")
    assert lane_of(line(cwd="/home/user/src"), bare).candidates == ()
    nowhere = Resolution(key="src", root="/tmp/x/src", source="cwd:.git", confidence="high")
    memory.session("s", cwd="/tmp/x/src", project=nowhere)
    answer = plain(scope_resolve(memory.context, ScopeResolveRequest("src")))
    assert answer["candidate_sub_scopes"] == []
    assert "<thread or sub-scope>" in answer["candidate_lanes"][0]["recommended_call"]


@pytest.mark.rows("SCP-10")
def test_a_session_at_the_root_is_in_the_lane_its_request_mentions() -> None:
    lane = lane_of(line(label="tidy packages/checkout/src/form.ts and tests/a.py"), PROJECT)
    assert (lane.name, lane.source) == ("checkout", "path_mention")


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


def test_a_foreign_session_given_as_a_hint_leaks_nothing(memory: Memory) -> None:
    memory.session("a", ("pending_item", "words of a"))
    memory.session(
        "ext-barn", ("user_request", "secret"), cwd="/work/barn", project=BARN
    )  # fmt: skip
    answer = scope_resolve(memory.context, ScopeResolveRequest("shop", hint="ext-barn"))
    assert answer.routing_decision == "no_match"
    assert "secret" not in str(plain(answer))
    with pytest.raises(NotFound, match="Project not found"):
        scope_resolve(memory.context, ScopeResolveRequest("nowhere"))


@pytest.mark.rows("SCP-13")
def test_resolving_and_bootstrapping_write_nothing(memory: Memory, two: tuple[int, int]) -> None:
    def content() -> list[str]:
        names = ("store.db", "store.db-wal")
        paths = [memory.directory / name for name in names]
        return [hashlib.sha256(path.read_bytes()).hexdigest() for path in paths if path.exists()]

    before, revision = content(), memory.store.scopes.revision()
    for request in (
        BootstrapRequest("shop"),
        BootstrapRequest("shop", hint="cart"),
        BootstrapRequest("shop", session_id=two[0]),
    ):
        assert bootstrap_context(memory.context, request).writes_performed is False
    resolved = scope_resolve(memory.context, ScopeResolveRequest("shop", hint="cart"))
    assert resolved.writes_performed is False
    assert (content(), memory.store.scopes.revision()) == (before, revision)
    completion_check(memory.context, ScopeRequest("shop"))
    assert memory.store.scopes.revision() != revision


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
