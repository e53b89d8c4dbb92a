"""Crush: a database per project, found through its list of projects, and MCP."""

from __future__ import annotations

from session_memory.adapters.agent import Agent, McpFacts

AGENT = Agent(
    name="crush",
    title="Crush",
    home_variable="CRUSH_GLOBAL_DATA",
    homes=("$XDG_DATA_HOME/crush", "~/.local/share/crush", "$LOCALAPPDATA/crush"),
    reader="session_memory.adapters.crush.reader:ADAPTER",
    wiring="session_memory.adapters.crush.wiring:CLIENT",
    mcp=McpFacts(client_name="crush"),
    instruction_files=("AGENTS.md", "CRUSH.md"),
    config_note="Paths may be a project, or a folder of projects.",
    log_builder="session_memory.adapters.crush.log_builder:CrushLog",
)
