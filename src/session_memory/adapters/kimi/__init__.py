"""Kimi CLI and Kimi Code: one `wire.jsonl` per agent of a session, and MCP."""

from __future__ import annotations

from session_memory.adapters.agent import Agent, McpFacts

AGENT = Agent(
    name="kimi",
    title="Kimi",
    home_variable="KIMI_CODE_HOME",
    homes=("~/.kimi-code", "$KIMI_SHARE_DIR", "~/.kimi"),
    reader="session_memory.adapters.kimi.reader:ADAPTER",
    wiring="session_memory.adapters.kimi.wiring:CLIENT",
    mcp=McpFacts(client_name="kimi"),
    instruction_files=("AGENTS.md",),
    experimental=True,
    log_builder="session_memory.adapters.kimi.log_builder:KimiLog",
)
