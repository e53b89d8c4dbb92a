"""Claude Cowork: Claude Code's logs in the data folder of Claude Desktop, and MCP."""

from __future__ import annotations

from session_memory.adapters.agent import Agent, McpFacts

_SESSIONS = "Claude/local-agent-mode-sessions"
_STORE_PACKAGE = "Packages/Claude_pzs8sxrjxfjjc/LocalCache/Roaming"
"""Where Windows keeps the data of an app from its store."""

AGENT = Agent(
    name="cowork",
    title="Claude Cowork",
    homes=(
        f"$XDG_CONFIG_HOME/{_SESSIONS}",
        f"~/.config/{_SESSIONS}",
        f"~/Library/Application Support/{_SESSIONS}",
        f"$APPDATA/{_SESSIONS}",
        f"$LOCALAPPDATA/{_STORE_PACKAGE}/{_SESSIONS}",
    ),
    reader="session_memory.adapters.cowork.reader:ADAPTER",
    wiring="session_memory.adapters.cowork.wiring:CLIENT",
    mcp=McpFacts(client_name="claude-ai"),
    config_note="Sessions of Claude Desktop on this machine; those of its Code tab are Claude's.",
    experimental=True,
    log_builder="session_memory.adapters.cowork.log_builder:CoworkLog",
)
