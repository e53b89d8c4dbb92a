"""Claude Code: one log per session, hooks, MCP, CLAUDE.md and skills."""

from __future__ import annotations

from session_memory.adapters.agent import Agent, HookFacts, McpFacts

AGENT = Agent(
    name="claude",
    title="Claude Code",
    home_variable="CLAUDE_CONFIG_DIR",
    homes=("~/.claude", "~/.config/claude"),
    reader="session_memory.adapters.claude.reader:ADAPTER",
    wiring="session_memory.adapters.claude.wiring:CLIENT",
    package="session_memory.adapters.claude.package:PACKAGE",
    hook=HookFacts(
        session_variable="CLAUDE_CODE_SESSION_ID",
        transcript_part="/.claude/",
        names_transcript=True,
    ),
    mcp=McpFacts(
        client_name="claude",
        model_sees="structured",
        session_variable="CLAUDE_CODE_SESSION_ID",
    ),
    instruction_files=("CLAUDE.md",),
    skill_folders=(".claude/skills",),
    log_builder="session_memory.adapters.claude.log_builder:ClaudeLog",
)
