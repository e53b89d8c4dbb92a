"""The table of tools, and every tool that takes a session: with none, one and a foreign one."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest
from tests.mcp.clients import LocalServer, text_of
from tests.mcp.conftest import Known
from tests.recall.store_builder import ROOT

from session_memory.mcp.tools import TOOLS

Json = dict[str, Any]
MISMATCH = "Session not found for project"


@pytest.fixture(params=["/nowhere", ROOT], ids=["all projects", "inside one project"])
def server(known: Known, request: pytest.FixtureRequest) -> Iterator[LocalServer]:
    made = LocalServer(clock=lambda: known.memory.now, cwd=request.param)
    yield made
    made.close()


def test_every_tool_names_a_function_that_takes_its_request() -> None:
    assert [tool.name for tool in TOOLS if tool.function is None] == ["mem_health_runtime"]
    for tool in TOOLS:
        if tool.function is not None:
            context, request = inspect.signature(tool.load()).parameters.values()
            needed = "Writer" if tool.mutates else "RecallContext"
            assert (context.annotation, request.annotation) == (needed, tool.request.__name__)


def told(result: Json) -> Json:
    """The structured answer of a call that worked."""
    assert result["isError"] is False, text_of(result)
    answer: Json = result["structuredContent"]
    return answer


def refused(server: LocalServer, tool: str, known: Known, **arguments: Any) -> None:
    """A session of another project is an error that says so and tells of neither project."""
    result = server.call(tool, project_key="shop", session_id=known.foreign, **arguments)
    assert result["isError"] is True
    assert list(result["structuredContent"]) == ["error", "hint"]
    assert MISMATCH in result["structuredContent"]["error"]
    assert MISMATCH in text_of(result)
    for word in ("hangar", "Paint", "ext-foreign", "round totals", "footer", "/work/"):
        assert word not in str(result)


@pytest.mark.rows("TCV-01")
def test_the_pack_is_of_all_sessions_or_of_one(server: LocalServer, known: Known) -> None:
    whole = told(server.call("mem_context_pack", project_key="shop"))
    assert whole["stats"]["source_session_count"] == 2
    assert "round totals" in whole["text"]
    assert "footer" in whole["text"]
    one = told(server.call("mem_context_pack", project_key="shop", session_id=known.cart))
    assert one["stats"]["source_session_count"] == 1
    assert "round totals" in one["text"]
    assert "footer" not in one["text"]
    refused(server, "mem_context_pack", known)


@pytest.mark.rows("TCV-02")
def test_scopes_are_of_a_known_project_and_leak_no_foreign_session(
    server: LocalServer, known: Known
) -> None:
    lanes = told(server.call("mem_scope_resolve", project_key="shop"))["candidate_lanes"]
    assert {lane["inferred_sub_scope"] for lane in lanes} == {"cart", "mailer"}
    unknown = server.call("mem_scope_resolve", project_key="nothing")
    assert unknown["isError"] is True
    assert unknown["structuredContent"]["error"] == "Project not found"
    taken = server.call("mem_scope_resolve", project_key="shop", session_id=known.foreign)
    assert taken["isError"] is True
    hinted = told(server.call("mem_scope_resolve", project_key="shop", hint="ext-foreign"))
    shown = {name: value for name, value in hinted.items() if name != "hint"}
    assert "ext-foreign" not in str(shown)
    assert "hangar" not in str(shown)
    assert hinted["routing_decision"] == "no_match"


@pytest.mark.rows("TCV-03")
def test_the_first_call_narrows_or_packs_one_session(server: LocalServer, known: Known) -> None:
    whole = told(server.call("mem_bootstrap_context", project_key="shop"))
    assert whole["selection_mode"] == "needs_narrowing"
    assert whole["context_pack"] is None
    one = told(server.call("mem_bootstrap_context", project_key="shop", session_id=known.mail))
    assert one["selection_mode"] == "explicit_session_id"
    assert "footer" in one["context_pack"]["text"]
    assert "round totals" not in str(one)
    refused(server, "mem_bootstrap_context", known)


@pytest.mark.rows("TCV-04")
def test_search_is_over_all_sessions_or_in_one(server: LocalServer, known: Known) -> None:
    both = told(server.call("mem_search", query="totals footer", project_key="shop"))
    assert {item["session_id"] for item in both["items"]} == {known.cart, known.mail}
    assert all(item["external_session_id"] and item["cwd"] for item in both["items"])
    one = told(server.call("mem_search", query="totals footer", session_id=known.mail))
    assert {item["session_id"] for item in one["items"]} == {known.mail}
    refused(server, "mem_search", known, query="paint")


@pytest.mark.rows("TCV-05")
def test_the_newest_are_of_all_sessions_or_of_one(server: LocalServer, known: Known) -> None:
    both = told(server.call("mem_recent", project_key="shop"))["items"]
    assert {item["session_id"] for item in both} == {known.cart, known.mail}
    assert both[0]["session_id"] == known.mail
    one = told(server.call("mem_recent", project_key="shop", session_id=known.cart))["items"]
    assert {item["session_id"] for item in one} == {known.cart}
    refused(server, "mem_recent", known)


@pytest.mark.rows("TCV-06")
def test_the_brief_is_of_the_project_or_of_one_session(server: LocalServer, known: Known) -> None:
    whole = told(server.call("mem_project_brief", project_key="shop"))
    assert whole["counts"]["sessions"] == 2
    one = told(server.call("mem_project_brief", project_key="shop", session_id=known.cart))
    assert one["session_filter"]["session_id"] == known.cart
    assert one["counts"]["sessions"] == 1
    assert "footer" not in str(one)
    refused(server, "mem_project_brief", known)


@pytest.mark.rows("TCV-07")
def test_open_work_is_of_the_project_or_of_one_session(server: LocalServer, known: Known) -> None:
    whole = told(server.call("mem_open_work", project_key="shop"))
    assert {item["session_id"] for item in whole["pending_items"]} == {known.cart, known.mail}
    one = told(server.call("mem_open_work", project_key="shop", session_id=known.mail))
    assert {item["session_id"] for item in one["pending_items"]} == {known.mail}
    refused(server, "mem_open_work", known)


@pytest.mark.rows("TCV-08")
def test_a_check_over_a_wrong_pair_is_not_recorded(server: LocalServer, known: Known) -> None:
    def checks() -> int:
        ((count,),) = known.memory.select("SELECT count(*) FROM closure_check WHERE kind = 'check'")
        return int(count)

    whole = told(server.call("mem_completion_check", project_key="shop"))
    assert whole["pending_count"] == 2
    one = told(server.call("mem_completion_check", project_key="shop", session_id=known.cart))
    assert one["pending_count"] == 1
    assert checks() == 2
    refused(server, "mem_completion_check", known)
    assert checks() == 2


@pytest.mark.rows("TCV-09")
def test_the_guard_is_broad_or_of_one_session(server: LocalServer, known: Known) -> None:
    whole = told(server.call("mem_scope_guard", project_key="shop"))
    assert whole["broad_scope_detected"] is True
    assert len(whole["candidate_lanes"]) == 2
    one = told(server.call("mem_scope_guard", project_key="shop", session_id=known.cart))
    flags = ("broad_scope_detected", "multiple_sessions_detected", "multiple_lanes_detected")
    assert [one[flag] for flag in flags] == [False, False, False]
    refused(server, "mem_scope_guard", known)


@pytest.mark.rows("TCV-10")
def test_changes_are_of_the_project_or_of_one_session(server: LocalServer, known: Known) -> None:
    whole = told(server.call("mem_recent_changes", project_key="shop"))
    assert {item["session_id"] for item in whole["new_pending_items"]} == {known.cart, known.mail}
    one = told(server.call("mem_recent_changes", project_key="shop", session_id=known.mail))
    assert {item["session_id"] for item in one["new_pending_items"]} == {known.mail}
    assert one["session_filter"]["session_id"] == known.mail
    refused(server, "mem_recent_changes", known)
