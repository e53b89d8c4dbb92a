"""Factory Droid: hooks in its settings, in Claude's shape, and a file of servers."""

from __future__ import annotations

import os

from session_memory.adapters.droid import AGENT
from session_memory.adapters.shared_wiring.client import (
    Client,
    Files,
    InstallContext,
    claude_groups,
    json_server,
    usual_root,
)
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.adapters.shared_wiring.parts import JsonHooks

EVENTS = {"SessionStart": 10, "SessionEnd": 10, "Stop": 10, "SubagentStop": 10, "PreCompact": 10}

root = usual_root(AGENT)


def files(context: InstallContext, launchers: Launchers) -> Files:
    """Settings and servers, of the user or of one project."""
    where = os.path.join(context.project, ".factory") if context.project else root(context)
    hooks = JsonHooks(claude_groups(launchers, AGENT.name, EVENTS))
    return {
        os.path.join(where, "settings.json"): (hooks,),
        os.path.join(where, "mcp.json"): (json_server(launchers, "mcpServers"),),
    }


CLIENT = Client(
    name=AGENT.name,
    programs=("droid",),
    root=root,
    files=files,
)
