"""GitHub Copilot Chat in VS Code: one document or one log of changes per chat, and MCP."""

from __future__ import annotations

from session_memory.adapters.agent import Agent, McpFacts
from session_memory.adapters.vscode_places import user_folders

AGENT = Agent(
    name="copilot_chat",
    title="GitHub Copilot Chat",
    homes=(
        *user_folders("workspaceStorage"),
        *user_folders("globalStorage/emptyWindowChatSessions"),
        *user_folders("globalStorage/transferredChatSessions"),
    ),
    reader="session_memory.adapters.copilot_chat.reader:ADAPTER",
    wiring="session_memory.adapters.copilot_chat.wiring:CLIENT",
    mcp=McpFacts(client_name="visual studio code"),
    instruction_files=("AGENTS.md",),
    config_note="Chats of VS Code and of editors built on it.",
    experimental=True,
    log_builder="session_memory.adapters.copilot_chat.log_builder:CopilotChatLog",
)
