"""Qwen Code: Gemini's settings file with Claude's events."""

from __future__ import annotations

import os

from session_memory.adapters.qwen.agent import AGENT
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

# In milliseconds.
EVENTS = {
    "SessionStart": 10_000,
    "SessionEnd": 10_000,
    "Stop": 10_000,
    "SubagentStop": 10_000,
    "PreCompact": 10_000,
}


def root(place: Place) -> str:
    """The configuration directory."""
    return place.directory(AGENT.home_variable, AGENT.homes[0])


def files(place: Place, ours: Ours) -> Files:
    """The settings."""
    where = os.path.join(place.project, ".qwen") if place.project else root(place)
    hooks = JsonHooks(claude_groups(ours, AGENT.name, EVENTS, matcher="*"))
    return {os.path.join(where, "settings.json"): (hooks, json_server(ours, "mcpServers"))}


SWITCHES = (
    Switch("hooks", "settings.json", ("hooksConfig", "enabled"), off=False),
    Switch("hooks", "settings.json", ("tools", "enableHooks"), off=False),
    Switch("hooks", "settings.json", ("disableAllHooks",), off=True),
)
CLIENT = Client(
    name=AGENT.name,
    programs=("qwen",),
    root=root,
    files=files,
    switches=SWITCHES,
)
