"""Kimi Code: the server in its file of servers. Its hooks are new, and were never tried."""

from __future__ import annotations

import os

from session_memory.adapters.kimi import AGENT
from session_memory.adapters.shared_wiring.client import (
    Client,
    Files,
    InstallContext,
    json_server,
    usual_root,
)
from session_memory.adapters.shared_wiring.launchers import Launchers

root = usual_root(AGENT)


def files(context: InstallContext, launchers: Launchers) -> Files:
    """The servers of the user; a project has none of its own."""
    if context.project:
        return {}
    return {os.path.join(root(context), "mcp.json"): (json_server(launchers, "mcpServers"),)}


CLIENT = Client(name=AGENT.name, programs=("kimi",), root=root, files=files)
