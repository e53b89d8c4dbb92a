"""Continue: one document per session. Only read: it has no hooks, and its settings are YAML."""

from __future__ import annotations

from session_memory.adapters.agent import Agent

AGENT = Agent(
    name="continue_dev",
    title="Continue",
    home_variable="CONTINUE_GLOBAL_DIR",
    homes=("~/.continue",),
    reader="session_memory.adapters.continue_dev.reader:ADAPTER",
    experimental=True,
    log_builder="session_memory.adapters.continue_dev.log_builder:ContinueDevLog",
)
