"""Claude Code: one log per session, hooks, MCP, CLAUDE.md and skills."""

from __future__ import annotations

from session_memory.adapters.agent import Agent, HookFacts, McpFacts, NativeMemory

AGENT = Agent(
    name="claude",
    title="Claude Code",
    home_variable="CLAUDE_CONFIG_DIR",
    homes=("~/.claude", "~/.config/claude"),
    reader="session_memory.adapters.claude.logs:ADAPTER",
    wiring="session_memory.adapters.claude.wiring:CLIENT",
    package="session_memory.adapters.claude.package:PACKAGE",
    hook=HookFacts(
        session_variable="CLAUDE_CODE_SESSION_ID",
        transcript_part="/.claude/",
        names_transcript=True,
        guards=("hint", "ask", "deny", "stop"),
    ),
    mcp=McpFacts(
        client_name="claude",
        model_sees="structured",
        session_variable="CLAUDE_CODE_SESSION_ID",
        renames_plugin_servers=True,
    ),
    instruction_files=("CLAUDE.md",),
    native=NativeMemory(
        project=("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", ".claude/rules/**/*.md"),
        home=("CLAUDE.md", "rules/**/*.md", "projects/{slug}/memory/*.md"),
        on_demand=("projects/{slug}/memory/[!M]*.md",),  # MEMORY.md names the others
        imports=True,
    ),
    skill_folders=(".claude/skills",),
    log_builder="session_memory.adapters.claude.log_builder:ClaudeLog",
)
