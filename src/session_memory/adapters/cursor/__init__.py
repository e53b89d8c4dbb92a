"""Cursor: transcripts of its agent, the store of its command line, and the store of the editor."""

from __future__ import annotations

from session_memory.adapters.agent import Agent, HookFacts, McpFacts, NativeMemory
from session_memory.adapters.vscode_places import user_folders

AGENT = Agent(
    name="cursor",
    title="Cursor",
    homes=(
        "~/.cursor",
        "$CURSOR_CONFIG_DIR",
        "$XDG_CONFIG_HOME/cursor",
        *user_folders("globalStorage", ("Cursor",)),
    ),
    reader="session_memory.adapters.cursor.reader:ADAPTER",
    wiring="session_memory.adapters.cursor.wiring:CLIENT",
    hook=HookFacts(transcript_part="/agent-transcripts/", gives_memory=False),
    mcp=McpFacts(client_name="cursor"),
    instruction_files=("AGENTS.md",),
    experimental=True,
    native=NativeMemory(project=(".cursor/rules/**/*.mdc", ".cursorrules", "AGENTS.md")),
    log_builder="session_memory.adapters.cursor.log_builder:CursorLog",
)
