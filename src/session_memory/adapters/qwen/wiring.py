"""Qwen Code: Gemini's settings file with Claude's events."""

from __future__ import annotations

import os

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
    return place.directory("QWEN_HOME", "~/.qwen")


def files(place: Place, ours: Ours) -> Files:
    """The settings."""
    where = os.path.join(place.project, ".qwen") if place.project else root(place)
    hooks = JsonHooks(claude_groups(ours, "qwen", EVENTS, matcher="*"))
    return {os.path.join(where, "settings.json"): (hooks, json_server(ours, "mcpServers"))}


SWITCHES = (
    Switch("hooks", "settings.json", ("hooksConfig", "enabled"), off=False),
    Switch("hooks", "settings.json", ("tools", "enableHooks"), off=False),
    Switch("hooks", "settings.json", ("disableAllHooks",), off=True),
)
CLIENT = Client("qwen", "Qwen Code", ("qwen",), root, files, switches=SWITCHES)
