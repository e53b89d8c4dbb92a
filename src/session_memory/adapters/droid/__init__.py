"""Factory Droid: one log per session in Claude's blocks, hooks, MCP and AGENTS.md."""

from __future__ import annotations

from session_memory.adapters.agent import Agent, HookFacts, McpFacts, NativeMemory

AGENT = Agent(
    name="droid",
    title="Factory Droid",
    home_variable="FACTORY_HOME_OVERRIDE",
    homes=("~/.factory",),
    reader="session_memory.adapters.droid.reader:ADAPTER",
    wiring="session_memory.adapters.droid.wiring:CLIENT",
    hook=HookFacts(transcript_part="/.factory/"),
    mcp=McpFacts(client_name="droid"),
    instruction_files=("AGENTS.md",),
    experimental=True,
    native=NativeMemory(project=("AGENTS.md",)),
    log_builder="session_memory.adapters.droid.log_builder:DroidLog",
)
