"""Qwen Code: chats, hooks, MCP and AGENTS.md."""

from __future__ import annotations

from session_memory.adapters.agent import Agent, HookFacts, McpFacts, NativeMemory

AGENT = Agent(
    name="qwen",
    title="Qwen Code",
    home_variable="QWEN_HOME",
    homes=("~/.qwen",),
    reader="session_memory.adapters.qwen.reader:ADAPTER",
    wiring="session_memory.adapters.qwen.wiring:CLIENT",
    hook=HookFacts(
        session_variable="QWEN_CODE_SESSION_ID",
        transcript_part="/.qwen/",
        in_system_prompt=True,
    ),
    mcp=McpFacts(
        client_name="qwen",
        model_sees="structured",
        session_variable="QWEN_CODE_SESSION_ID",
    ),
    instruction_files=("AGENTS.md",),
    native=NativeMemory(project=("QWEN.md", "AGENTS.md"), home=("QWEN.md",), imports=True),
    log_builder="session_memory.adapters.qwen.log_builder:QwenLog",
)
