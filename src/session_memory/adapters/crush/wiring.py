"""Crush: the server in its configuration. Its only hook runs before tools, so it is not wired."""

from __future__ import annotations

import os

from session_memory.adapters.crush import AGENT
from session_memory.adapters.shared_wiring.client import Client, Files, InstallContext, json_server
from session_memory.adapters.shared_wiring.launchers import Launchers

NAMES = (".crush.json", "crush.json")


def root(context: InstallContext) -> str:
    """The configuration directory."""
    usual = os.path.join(context.config_home(), "crush")
    return context.directory("CRUSH_GLOBAL_CONFIG", usual)


def files(context: InstallContext, launchers: Launchers) -> Files:
    """The configuration of the user, or of one project under the name it has there."""
    path = os.path.join(root(context), "crush.json")
    if context.project:
        paths = [os.path.join(context.project, name) for name in NAMES]
        path = next((candidate for candidate in paths if os.path.lexists(candidate)), paths[0])
    return {path: (json_server(launchers, "mcp", type="stdio"),)}


CLIENT = Client(name=AGENT.name, programs=("crush",), root=root, files=files)
