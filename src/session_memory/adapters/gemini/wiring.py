"""Gemini CLI: hooks and server in one settings file."""

from __future__ import annotations

import os

from session_memory.adapters.gemini import AGENT
from session_memory.adapters.wiring.client import (
    Client,
    Files,
    InstallContext,
    Switch,
    claude_groups,
    json_server,
)
from session_memory.adapters.wiring.launchers import Launchers
from session_memory.adapters.wiring.parts import JsonHooks

# In milliseconds. PreCompress is left out: 0.61.0 fires it before every request to the model.
EVENTS = {"SessionStart": 10_000, "SessionEnd": 10_000, "AfterAgent": 10_000}


def root(context: InstallContext) -> str:
    """The configuration directory; the variable names the home it is in."""
    moved = context.environ.get("GEMINI_CLI_HOME")
    home = context.directory(AGENT.home_variable, AGENT.homes[0])
    return os.path.join(home, ".gemini") if moved else home


def files(context: InstallContext, launchers: Launchers) -> Files:
    """The settings."""
    where = os.path.join(context.project, ".gemini") if context.project else root(context)
    hooks = JsonHooks(claude_groups(launchers, AGENT.name, EVENTS, matcher="*"))
    return {os.path.join(where, "settings.json"): (hooks, json_server(launchers, "mcpServers"))}


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
