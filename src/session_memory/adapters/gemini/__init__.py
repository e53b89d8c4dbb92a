"""Gemini CLI: chats, hooks, MCP and GEMINI.md."""

from __future__ import annotations

from session_memory.adapters.agent import Agent, HookFacts, McpFacts, NativeMemory

AGENT = Agent(
    name="gemini",
    title="Gemini CLI",
    home_variable="GEMINI_CLI_HOME",
    homes=("~/.gemini",),
    reader="session_memory.adapters.gemini.reader:ADAPTER",
    wiring="session_memory.adapters.gemini.wiring:CLIENT",
    package="session_memory.adapters.gemini.package:PACKAGE",
    hook=HookFacts(
        session_variable="GEMINI_SESSION_ID",
        transcript_part="/.gemini/",
        guards=("hint after", "deny", "flat", "stop"),
    ),
    mcp=McpFacts(
        client_name="gemini",
        model_sees="json",
    ),
    instruction_files=("GEMINI.md",),
    native=NativeMemory(project=("GEMINI.md",), home=("GEMINI.md",), imports=True),
    log_builder="session_memory.adapters.gemini.log_builder:GeminiLog",
)
