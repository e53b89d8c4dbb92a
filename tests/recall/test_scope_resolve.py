"""From a hint to a lane or session, or to a question."""

from __future__ import annotations

import hashlib

import pytest
from tests.recall.store_builder import Memory, plain
from tests.recall.test_scope import BARN, two

from session_memory.errors import NotFound
from session_memory.recall.bootstrap_context import bootstrap_context
from session_memory.recall.completion_check import completion_check
from session_memory.recall.requests import BootstrapRequest, ScopeRequest, ScopeResolveRequest
from session_memory.recall.scope_resolve import scope_resolve

__all__ = ["two"]


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
