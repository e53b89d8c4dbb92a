"""Kilo Code until March 2026: tasks in Cline's format. Only read.

Later versions keep their sessions in a database like OpenCode's, which is not read.
"""

from __future__ import annotations

from session_memory.adapters.agent import Agent
from session_memory.adapters.vscode_places import user_folders

AGENT = Agent(
    name="kilo",
    title="Kilo Code",
    homes=user_folders("globalStorage/kilocode.kilo-code"),
    reader="session_memory.adapters.kilo.reader:ADAPTER",
    experimental=True,
    config_note="Versions before March 2026.",
    log_builder="session_memory.adapters.kilo.log_builder:KiloLog",
)
