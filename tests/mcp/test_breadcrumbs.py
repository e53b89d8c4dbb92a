"""Answers suggest only tools that are offered."""

from __future__ import annotations

import json
import re

import pytest
from tests.mcp.test_agent_tools import Agent, space

from session_memory.mcp.runtime import Options
from session_memory.testing.workspace import Workspace

__all__ = ["space"]


@pytest.mark.rows("AGT-01")
def test_answers_suggest_only_tools_that_are_offered(space: Workspace) -> None:
    agent = Agent(space)
    offered = {tool["name"] for tool in agent.ask("tools/list")["result"]["tools"]}
    answer = agent.call("mem_bootstrap_context")
    named = set(re.findall(r"mem_\w+", json.dumps(answer)))
    assert "mem_bootstrap_context" in named <= offered
    agent.close()
    full = Agent(space, Options(profile="standard"))
    assert "mem_context_pack(" in json.dumps(full.call("mem_bootstrap_context"))
    full.close()
