"""pi: a tree of entries per session, an extension that calls the hook; no MCP."""

from __future__ import annotations

from session_memory.adapters.agent import Agent

AGENT = Agent(
    name="pi",
    title="pi",
    home_variable="PI_CODING_AGENT_DIR",
    homes=("~/.pi/agent",),
    reader="session_memory.adapters.pi.reader:ADAPTER",
    wiring="session_memory.adapters.pi.wiring:CLIENT",
    package="session_memory.adapters.pi.package:PACKAGE",
    config_note="OpenClaw writes the same format: list its directory as well to read both.",
    log_builder="session_memory.adapters.pi.log_builder:PiLog",
)
