"""Who calls, from what its client says."""

from __future__ import annotations

from tests.mcp.clients import LocalServer
from tests.mcp.conftest import Known

from session_memory.mcp.callers import Caller, caller


def test_a_caller_is_known_by_what_its_client_says() -> None:
    codex = {
        "_meta": {
            "sessionId": "s-1",
            "x-codex-turn-metadata": {"session_id": "s-1", "workspaces": {"/work/shop": {}}},
        }
    }
    assert caller("codex", codex, {}, "/tmp") == Caller("codex", "s-1", "/work/shop", "codex")
    two = {"_meta": {"x-codex-turn-metadata": {"workspaces": {"/a": {}, "/b": {}}}}}
    assert caller("codex", two, {}, "/b") == Caller("codex", None, "/b", "codex")
    environ = {"CLAUDE_CODE_SESSION_ID": "c-1", "CLAUDE_PROJECT_DIR": "/work/shop"}
    assert caller("claude-code", {}, environ, "/tmp") == Caller(
        "claude-code", "c-1", "/work/shop", "claude"
    )
    assert caller("grok", {}, {"GROK_SESSION_ID": "g"}, "/x") == Caller("grok", "g", "/x", "grok")
    for odd in ({"_meta": 5}, {"_meta": {"x-codex-turn-metadata": [1], "sessionId": 3}}):
        assert caller(None, odd, {}, "/x") == Caller(None, None, "/x")


def test_the_project_is_that_of_the_callers_directory(known: Known) -> None:
    server = LocalServer(cwd="/work/shop/cart/deep", clock=lambda: known.memory.now)
    assert server.call("mem_open_work")["structuredContent"]["pending_items"]
    listed = server.call("mem_session_list")["structuredContent"]
    assert listed["project_key"] == "shop"
    elsewhere = LocalServer(cwd="/nowhere", clock=lambda: known.memory.now)
    refused = elsewhere.call("mem_open_work")
    assert refused["isError"] is True
    assert refused["structuredContent"]["error"] == "Project not found"
    everywhere = elsewhere.call("mem_recent")["structuredContent"]["items"]
    assert {item["project_key"] for item in everywhere} == {"shop", "other"}
    server.close()
    elsewhere.close()
