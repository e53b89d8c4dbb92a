"""OpenCode: a database, a plug-in that calls the hook, MCP and AGENTS.md."""

from __future__ import annotations

from session_memory.adapters.agent import Agent, HookFacts, McpFacts, NativeMemory

AGENT = Agent(
    name="opencode",
    title="OpenCode",
    home_variable="OPENCODE_DATA_DIR",
    homes=("$XDG_DATA_HOME/opencode", "~/.local/share/opencode"),
    reader="session_memory.adapters.opencode.reader:ADAPTER",
    wiring="session_memory.adapters.opencode.wiring:CLIENT",
    package="session_memory.adapters.opencode.package:PACKAGE",
    hook=HookFacts(
        # Its plug-in may report every piece of every message; these begin or end something.
        events=(
            "session_created",
            "session_idle",
            "pre_compact",
            "session_compacted",
            "session_deleted",
            "session_end",
            "tool_execute_before",
        ),
        guards=("hint", "deny"),
    ),
    mcp=McpFacts(
        client_name="opencode",
    ),
    instruction_files=("AGENTS.md",),
    native=NativeMemory(project=("AGENTS.md",)),
    config_note="Paths may be its database, its older storage, or folders with exports.",
    log_builder="session_memory.adapters.opencode.log_builder:OpenCodeLog",
)
