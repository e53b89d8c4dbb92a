"""Aider: a chat history in Markdown in each repository. Only read: it has no hooks and no MCP."""

from __future__ import annotations

from session_memory.adapters.agent import Agent

AGENT = Agent(
    name="aider",
    title="Aider",
    homes=(),
    reader="session_memory.adapters.aider.reader:ADAPTER",
    config_note=(
        "It keeps its history in each repository: name the folders to look in, six levels deep."
    ),
    log_builder="session_memory.adapters.aider.log_builder:AiderLog",
)
