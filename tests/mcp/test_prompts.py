"""Prompts are filled, and name only tools that are offered."""

from __future__ import annotations

import pytest
from tests.mcp.test_agent_tools import Agent, space

from session_memory.testing.workspace import Workspace

__all__ = ["space"]


@pytest.mark.rows("AGT-04")
def test_every_prompt_is_filled_and_names_only_tools_that_are_offered(space: Workspace) -> None:
    agent = Agent(space)
    tools = {tool["name"] for tool in agent.ask("tools/list")["result"]["tools"]}
    listed = agent.ask("prompts/list")["result"]["prompts"]
    assert [prompt["name"] for prompt in listed] == [
        "remember",
        "catch-up",
        "handoff",
        "review-rules",
        "consolidate",
        "postmortem",
        "fix",
    ]
    for prompt in listed:
        given = {a["name"]: "vitest: command not found" for a in prompt.get("arguments", ())}
        text = agent.prompt(prompt["name"], **given)
        assert "${" not in text and text.strip()
        assert tools_named(text) <= tools
    agent.close()


def tools_named(text: str) -> set[str]:
    return {word.strip("`.,;:()") for word in text.split() if word.startswith("`mem_")}


@pytest.mark.rows("AGT-04")
def test_prompts_say_what_is_wrong_with_a_request(space: Workspace) -> None:
    agent = Agent(space)
    assert "no such prompt" in agent.ask("prompts/get", name="dance")["error"]["message"]
    assert "needs error" in agent.ask("prompts/get", name="fix")["error"]["message"]
    agent.close()
    lost = Agent(space, cwd="/nowhere")
    assert "sweep first" in lost.ask("prompts/get", name="catch-up")["error"]["message"]
    lost.close()
