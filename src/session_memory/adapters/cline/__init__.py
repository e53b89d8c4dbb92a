"""Cline: one folder per task in the editor's storage. Only read: its hooks are not wired."""

from __future__ import annotations

from session_memory.adapters.agent import Agent
from session_memory.adapters.vscode_places import user_folders

AGENT = Agent(
    name="cline",
    title="Cline",
    homes=(*user_folders("globalStorage/saoudrizwan.claude-dev"), "~/.cline/data"),
    reader="session_memory.adapters.cline.reader:ADAPTER",
    experimental=True,
    log_builder="session_memory.adapters.cline.log_builder:ClineLog",
)
