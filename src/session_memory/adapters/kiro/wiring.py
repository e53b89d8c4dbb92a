"""Kiro: the server in its file of servers. Its hooks belong to agents the user makes."""

from __future__ import annotations

import os

from session_memory.adapters.kiro import AGENT
from session_memory.adapters.shared_wiring.client import Client, Files, InstallContext, json_server
from session_memory.adapters.shared_wiring.launchers import Launchers


def root(context: InstallContext) -> str:
    """The configuration directory."""
    return context.directory("KIRO_HOME", "~/.kiro")


def files(context: InstallContext, launchers: Launchers) -> Files:
    """The servers, of the user or of one project."""
    where = os.path.join(context.project, ".kiro") if context.project else root(context)
    path = os.path.join(where, "settings", "mcp.json")
    return {path: (json_server(launchers, "mcpServers"),)}


CLIENT = Client(name=AGENT.name, programs=("kiro-cli", "kiro"), root=root, files=files)
