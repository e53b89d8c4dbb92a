"""Gemini CLI: hooks and server in one settings file."""

from __future__ import annotations

import os

from session_memory.adapters.gemini.agent import AGENT
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

# In milliseconds. PreCompress is left out: 0.61.0 fires it before every request to the model.
EVENTS = {"SessionStart": 10_000, "SessionEnd": 10_000, "AfterAgent": 10_000}


def root(place: Place) -> str:
    """The configuration directory; the variable names the home it is in."""
    moved = place.environ.get("GEMINI_CLI_HOME")
    home = place.directory(AGENT.home_variable, AGENT.homes[0])
    return os.path.join(home, ".gemini") if moved else home


def files(place: Place, ours: Ours) -> Files:
    """The settings."""
    where = os.path.join(place.project, ".gemini") if place.project else root(place)
    hooks = JsonHooks(claude_groups(ours, AGENT.name, EVENTS, matcher="*"))
    return {os.path.join(where, "settings.json"): (hooks, json_server(ours, "mcpServers"))}


SWITCHES = (
    Switch("hooks", "settings.json", ("hooksConfig", "enabled"), off=False),
    Switch("hooks", "settings.json", ("tools", "enableHooks"), off=False),
    Switch("hooks", "settings.json", ("disableAllHooks",), off=True),
)
CLIENT = Client(
    name=AGENT.name,
    programs=("gemini",),
    root=root,
    files=files,
    switches=SWITCHES,
)
