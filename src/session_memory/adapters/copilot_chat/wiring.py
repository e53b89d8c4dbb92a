"""VS Code: the server in its list of servers. Its hooks are not wired."""

from __future__ import annotations

import os

from session_memory.adapters.copilot_chat import AGENT
from session_memory.adapters.shared_wiring.client import (
    Client,
    Files,
    InstallContext,
    app_folder,
    json_server,
)
from session_memory.adapters.shared_wiring.launchers import Launchers


def root(context: InstallContext) -> str:
    """The user's folder in the data of VS Code."""
    return app_folder(context, os.path.join("Code", "User"))


def files(context: InstallContext, launchers: Launchers) -> Files:
    """Servers, of the user or of one project."""
    where = os.path.join(context.project, ".vscode") if context.project else root(context)
    server = json_server(launchers, "servers", type="stdio")
    return {os.path.join(where, "mcp.json"): (server,)}


CLIENT = Client(
    name=AGENT.name,
    programs=("code",),
    root=root,
    files=files,
)
