"""Crush: a database per project, found through its list of projects. Only read."""

from __future__ import annotations

from session_memory.adapters.agent import Agent

AGENT = Agent(
    name="crush",
    title="Crush",
    home_variable="CRUSH_GLOBAL_DATA",
    homes=("$XDG_DATA_HOME/crush", "~/.local/share/crush", "$LOCALAPPDATA/crush"),
    reader="session_memory.adapters.crush.reader:ADAPTER",
    instruction_files=("AGENTS.md", "CRUSH.md"),
    config_note="Paths may be a project, or a folder of projects.",
    log_builder="session_memory.adapters.crush.log_builder:CrushLog",
)
