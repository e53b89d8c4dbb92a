"""Claude Code: hooks in its settings, the server in the file that `claude mcp add` writes."""

from __future__ import annotations

import os

from session_memory.adapters.claude.agent import AGENT
from session_memory.adapters.wiring.client import (
    Client,
    Files,
    Place,
    Switch,
    claude_groups,
    json_server,
)
from session_memory.adapters.wiring.launchers import Ours
from session_memory.adapters.wiring.parts import JsonHooks

# Without a time-out of their own all SessionEnd hooks share 1.5 s.
EVENTS = {"SessionStart": 10, "SessionEnd": 10, "Stop": 10, "SubagentStop": 10, "PreCompact": 10}


def root(place: Place) -> str:
    """The configuration directory."""
    return place.directory(AGENT.home_variable, AGENT.homes[0])


def files(place: Place, ours: Ours) -> Files:
    """Settings, and the file with the servers of the user or of one project."""
    moved = place.environ.get("CLAUDE_CONFIG_DIR")
    servers = os.path.join(root(place) if moved else place.home, ".claude.json")
    settings = os.path.join(root(place), "settings.json")
    where: tuple[str, ...] = ("mcpServers",)
    if place.project:
        # Both are personal: what the team shares would name paths of this machine.
        settings = os.path.join(place.project, ".claude", "settings.local.json")
        where = ("projects", place.project, "mcpServers")
    return {
        settings: (JsonHooks(claude_groups(ours, AGENT.name, EVENTS)),),
        servers: (json_server(ours, *where),),
    }


SWITCHES = (Switch("hooks", "settings.json", ("disableAllHooks",), off=True),)
CLIENT = Client(
    name=AGENT.name,
    programs=("claude",),
    root=root,
    files=files,
    switches=SWITCHES,
)
