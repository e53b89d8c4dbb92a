"""GitHub Copilot CLI: a folder per session, hooks, MCP and AGENTS.md."""

from __future__ import annotations

from session_memory.adapters.agent import Agent, HookFacts, McpFacts, NativeMemory

AGENT = Agent(
    name="copilot",
    title="GitHub Copilot CLI",
    home_variable="COPILOT_HOME",
    homes=("~/.copilot",),
    reader="session_memory.adapters.copilot.reader:ADAPTER",
    wiring="session_memory.adapters.copilot.wiring:CLIENT",
    package="session_memory.adapters.copilot.package:PACKAGE",
    hook=HookFacts(
        session_variable="COPILOT_AGENT_SESSION_ID",
        transcript_part="/session-state/",
        flat_answer=True,
    ),
    mcp=McpFacts(
        client_name="copilot",
        model_sees="structured",
        session_variable="COPILOT_AGENT_SESSION_ID",
    ),
    instruction_files=("AGENTS.md",),
    native=NativeMemory(
        project=(
            ".github/copilot-instructions.md",
            ".github/instructions/**/*.instructions.md",
            "AGENTS.md",
            "CLAUDE.md",
        ),
        home=("copilot-instructions.md",),
    ),
    log_builder="session_memory.adapters.copilot.log_builder:CopilotLog",
)
