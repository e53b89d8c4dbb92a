"""Zed's agent: threads in one database, and MCP."""

from __future__ import annotations

from session_memory.adapters.agent import Agent, McpFacts

AGENT = Agent(
    name="zed",
    title="Zed",
    homes=(
        "$XDG_DATA_HOME/zed",
        "~/.local/share/zed",
        "~/Library/Application Support/Zed",
        "$LOCALAPPDATA/Zed",
    ),
    reader="session_memory.adapters.zed.reader:ADAPTER",
    wiring="session_memory.adapters.zed.wiring:CLIENT",
    mcp=McpFacts(client_name="zed"),
    experimental=True,
    config_note="Its own agent; others that run in it write logs of their own.",
    log_builder="session_memory.adapters.zed.log_builder:ZedLog",
)
