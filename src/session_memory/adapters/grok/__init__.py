"""Grok Build: a folder per session, hooks and MCP."""

from __future__ import annotations

from session_memory.adapters.agent import Agent, HookFacts, McpFacts

AGENT = Agent(
    name="grok",
    title="Grok Build",
    home_variable="GROK_HOME",
    homes=("~/.grok",),
    reader="session_memory.adapters.grok.reader:ADAPTER",
    wiring="session_memory.adapters.grok.wiring:CLIENT",
    hook=HookFacts(
        session_variable="GROK_SESSION_ID",
        memory_with_tool=True,
    ),
    mcp=McpFacts(
        client_name="grok",
        model_sees="structured",
        session_variable="GROK_SESSION_ID",
    ),
    log_builder="session_memory.adapters.grok.log_builder:GrokLog",
)
