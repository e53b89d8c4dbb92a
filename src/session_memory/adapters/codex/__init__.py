"""Codex: rollout files, hooks that its user approves, MCP, AGENTS.md and shared skills."""

from __future__ import annotations

from session_memory.adapters.agent import Agent, HookFacts, McpFacts, NativeMemory

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
        guards=("hint", "deny", "stop"),
    ),
    mcp=McpFacts(
        client_name="codex",
        model_sees="structured",
    ),
    instruction_files=("AGENTS.md",),
    native=NativeMemory(
        project=("AGENTS.md", "AGENTS.override.md"),
        home=("AGENTS.md", "AGENTS.override.md", "memories/*.md"),
        on_demand=("memories/[!m]*.md",),  # memory_summary.md names the others
        overrides=True,
    ),
    skill_folders=(".agents/skills",),
    log_builder="session_memory.adapters.codex.log_builder:CodexLog",
)
