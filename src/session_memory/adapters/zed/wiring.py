"""Zed: the server in its settings. It has no hooks."""

from __future__ import annotations

import os

from session_memory.adapters.shared_wiring.client import Client, Files, InstallContext, json_server
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.adapters.zed import AGENT


def root(context: InstallContext) -> str:
    """The configuration directory."""
    if os.name == "nt":
        return os.path.join(context.environ.get("APPDATA", context.home), "Zed")
    return os.path.join(context.config_home(), "zed")


def files(context: InstallContext, launchers: Launchers) -> Files:
    """The settings, of the user or of one project."""
    where = os.path.join(context.project, ".zed") if context.project else root(context)
    server = json_server(launchers, "context_servers", source="custom")
    return {os.path.join(where, "settings.json"): (server,)}


CLIENT = Client(name=AGENT.name, programs=("zed", "zeditor"), root=root, files=files)
