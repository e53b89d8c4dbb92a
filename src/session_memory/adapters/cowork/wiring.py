"""Claude Desktop: the server in its configuration. The settings of a session are the app's own."""

from __future__ import annotations

import os

from session_memory.adapters.cowork import AGENT
from session_memory.adapters.shared_wiring.client import (
    Client,
    Files,
    InstallContext,
    app_folder,
    json_server,
)
from session_memory.adapters.shared_wiring.launchers import Launchers


def root(context: InstallContext) -> str:
    """The data of the app."""
    return app_folder(context, "Claude")


def files(context: InstallContext, launchers: Launchers) -> Files:
    """Servers; only for the user, since the app knows no projects."""
    if context.project:
        return {}
    path = os.path.join(root(context), "claude_desktop_config.json")
    return {path: (json_server(launchers, "mcpServers"),)}


CLIENT = Client(
    name=AGENT.name,
    programs=("claude-desktop",),
    root=root,
    files=files,
)
