"""Roo Code: tasks in Cline's format, with sub-tasks. Only read."""

from __future__ import annotations

from session_memory.adapters.agent import Agent
from session_memory.adapters.vscode_places import user_folders

AGENT = Agent(
    name="roo",
    title="Roo Code",
    homes=user_folders("globalStorage/rooveterinaryinc.roo-cline"),
    reader="session_memory.adapters.roo.reader:ADAPTER",
    experimental=True,
    log_builder="session_memory.adapters.roo.log_builder:RooLog",
)
