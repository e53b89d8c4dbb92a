"""Kiro CLI: a line log per session, or rows of a database, and MCP. Not Kiro's editor."""

from __future__ import annotations

from session_memory.adapters.agent import Agent, McpFacts

AGENT = Agent(
    name="kiro",
    title="Kiro CLI",
    homes=(
        "$KIRO_HOME",
        "~/.kiro",
        "$XDG_DATA_HOME/kiro-cli",
        "~/.local/share/kiro-cli",
        "~/Library/Application Support/kiro-cli",
    ),
    reader="session_memory.adapters.kiro.reader:ADAPTER",
    wiring="session_memory.adapters.kiro.wiring:CLIENT",
    mcp=McpFacts(client_name="kiro"),
    instruction_files=("AGENTS.md",),
    experimental=True,
    config_note="Sessions of its editor are not read.",
    log_builder="session_memory.adapters.kiro.log_builder:KiroLog",
)
