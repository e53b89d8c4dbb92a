"""Antigravity, command line and editor: a log of steps per conversation. Only read."""

from __future__ import annotations

from session_memory.adapters.agent import Agent

AGENT = Agent(
    name="antigravity",
    title="Antigravity",
    homes=("~/.gemini/antigravity-cli", "~/.gemini/antigravity-ide", "~/.gemini/antigravity"),
    reader="session_memory.adapters.antigravity.reader:ADAPTER",
    experimental=True,
    log_builder="session_memory.adapters.antigravity.log_builder:AntigravityLog",
)
