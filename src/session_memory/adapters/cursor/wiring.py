"""Cursor: a file of hooks and a file of servers.

What a hook prints does not reach Cursor's model, so memory goes through the server and the files
of instructions.
"""

from __future__ import annotations

import os

from session_memory.adapters.cursor import AGENT
from session_memory.adapters.shared_wiring.client import (
    Client,
    Files,
    InstallContext,
    json_server,
    usual_root,
)
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.adapters.shared_wiring.parts import Handler, JsonHooks

# An event that a version does not know is passed over.
EVENTS = ("sessionStart", "sessionEnd", "stop", "preCompact")

root = usual_root(AGENT)


def files(context: InstallContext, launchers: Launchers) -> Files:
    """Hooks and servers, of the user or of one project."""
    where = os.path.join(context.project, ".cursor") if context.project else root(context)
    handlers = tuple(
        Handler(event, {"command": launchers.hook(event, AGENT.name)}, nested=False)
        for event in EVENTS
    )
    return {
        os.path.join(where, "hooks.json"): (JsonHooks(handlers, seed='{\n  "version": 1\n}'),),
        os.path.join(where, "mcp.json"): (json_server(launchers, "mcpServers"),),
    }


CLIENT = Client(
    name=AGENT.name,
    programs=("cursor", "cursor-agent"),
    root=root,
    files=files,
)
