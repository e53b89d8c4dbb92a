"""Grok Build: a hook file of our own, and the server in its configuration."""

from __future__ import annotations

import os

from session_memory.adapters.grok.agent import AGENT
from session_memory.adapters.wiring.client import (
    Client,
    Files,
    Place,
    claude_groups,
    command_server,
)
from session_memory.adapters.wiring.launchers import Ours
from session_memory.adapters.wiring.parts import JsonHooks, TomlServer

# Grok passes nothing on that a hook prints at a session's start, but what one prints after a tool.
EVENTS = {
    "SessionStart": 5,
    "PostToolUse": 5,
    "SessionEnd": 5,
    "Stop": 5,
    "SubagentStop": 5,
    "PreCompact": 5,
}


def root(place: Place) -> str:
    """The configuration directory."""
    return place.directory(AGENT.home_variable, AGENT.homes[0])


def files(place: Place, ours: Ours) -> Files:
    """Every file in its folder of hooks is read, so ours needs no other."""
    where = os.path.join(place.project, ".grok") if place.project else root(place)
    hooks = JsonHooks(claude_groups(ours, AGENT.name, EVENTS))
    server = TomlServer(command_server(ours, startup_timeout_sec=30))
    return {
        os.path.join(where, "hooks", "session-memory.json"): (hooks,),
        os.path.join(where, "config.toml"): (server,),
    }


CLIENT = Client(
    name=AGENT.name,
    programs=("grok",),
    root=root,
    files=files,
)
