"""Claude Code: hooks in its settings, the server in the file that `claude mcp add` writes."""

from __future__ import annotations

import os

from session_memory.adapters.claude import AGENT
from session_memory.adapters.wiring.client import (
    Client,
    Files,
    InstallContext,
    Switch,
    claude_groups,
    json_server,
    usual_root,
)
from session_memory.adapters.wiring.launchers import Launchers
from session_memory.adapters.wiring.parts import JsonHooks

# Without a time-out of their own all SessionEnd hooks share 1.5 s.
EVENTS = {"SessionStart": 10, "SessionEnd": 10, "Stop": 10, "SubagentStop": 10, "PreCompact": 10}

root = usual_root(AGENT)


def files(context: InstallContext, launchers: Launchers) -> Files:
    """Settings, and the file with the servers of the user or of one project."""
    moved = context.environ.get("CLAUDE_CONFIG_DIR")
    servers = os.path.join(root(context) if moved else context.home, ".claude.json")
    settings = os.path.join(root(context), "settings.json")
    where: tuple[str, ...] = ("mcpServers",)
    if context.project:
        # Both are personal: what the team shares would name paths of this machine.
        settings = os.path.join(context.project, ".claude", "settings.local.json")
        where = ("projects", context.project, "mcpServers")
    return {
        settings: (JsonHooks(claude_groups(launchers, AGENT.name, EVENTS)),),
        servers: (json_server(launchers, *where),),
    }


SWITCHES = (Switch("hooks", "settings.json", ("disableAllHooks",), off=True),)
CLIENT = Client(
    name=AGENT.name,
    programs=("claude",),
    root=root,
    files=files,
    switches=SWITCHES,
)
