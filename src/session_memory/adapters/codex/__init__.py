"""Codex: rollout files, hooks that its user approves, MCP, AGENTS.md and shared skills."""

from __future__ import annotations

from session_memory.adapters.agent import Agent, HookFacts, McpFacts

AGENT = Agent(
    name="codex",
    title="Codex",
    home_variable="CODEX_HOME",
    homes=("~/.codex",),
    reader="session_memory.adapters.codex.reader:ADAPTER",
    wiring="session_memory.adapters.codex.wiring:CLIENT",
    package="session_memory.adapters.codex.package:PACKAGE",
    hook=HookFacts(
        transcript_part="/rollout-",
        names_transcript=True,
    ),
    mcp=McpFacts(
        client_name="codex",
        model_sees="structured",
    ),
    instruction_files=("AGENTS.md",),
    skill_folders=(".agents/skills",),
    log_builder="session_memory.adapters.codex.log_builder:CodexLog",
)
