"""The official SDK's client as the judge of the wire: every tool, each way to say hello."""

from __future__ import annotations

import os
import sys
from typing import Any, Literal

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import Implementation, TextContent
from tests.mcp.conftest import Known
from tests.mcp.test_render import every_call

from session_memory.mcp.server import instructions
from session_memory.mcp.tools import tools_of

Json = dict[str, Any]


async def converse(mode: Literal["legacy", "auto"], calls: list[tuple[str, Json]]) -> Json:
    """Everything a client does, in one conversation; what it learned."""
    environ = {"SESSION_MEMORY_HOME": os.environ["SESSION_MEMORY_HOME"]}
    place = StdioServerParameters(
        command=sys.executable, args=["-m", "session_memory", "mcp"], env=environ
    )
    info = Implementation(name="claude-code", version="1")
    learned: Json = {"results": {}}
    async with Client(stdio_client(place), mode=mode, client_info=info) as client:
        learned["version"] = client.protocol_version
        learned["instructions"] = client.instructions
        learned["capabilities"] = client.server_capabilities
        learned["tools"] = (await client.list_tools()).tools
        for name, arguments in calls:
            learned["results"][name] = await client.call_tool(name, arguments)
        learned["refused"] = await client.call_tool("mem_open_work", {"project_key": "nothing"})
        learned["again"] = (await client.list_tools()).tools
    return learned


@pytest.mark.parametrize(("mode", "version"), [("legacy", "2025-11-25"), ("auto", "2026-07-28")])
def test_the_official_client_is_served(
    known: Known, mode: Literal["legacy", "auto"], version: str
) -> None:
    offered = tools_of("standard")
    calls = every_call(known)
    learned = anyio.run(converse, mode, calls)
    assert learned["version"] == version
    assert learned["instructions"] == instructions(offered)
    assert learned["capabilities"].tools is not None
    assert learned["capabilities"].resources is None
    assert [tool.name for tool in learned["tools"]] == [tool.name for tool in offered]
    assert learned["again"] == learned["tools"]
    assert len(calls) == len(offered)
    for name, found in learned["results"].items():
        assert found.is_error is False, name
        assert isinstance(found.structured_content, dict), name
        (part,) = found.content
        assert isinstance(part, TextContent)
        assert part.text.startswith(f"session-memory {name}")
    assert "round totals" in learned["results"]["mem_context_pack"].structured_content["text"]
    assert learned["refused"].is_error is True
    assert learned["refused"].structured_content["error"] == "Project not found"
