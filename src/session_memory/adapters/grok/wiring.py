"""Grok Build: a hook file of our own, and the server in its configuration."""

from __future__ import annotations

import os

from session_memory.adapters.grok import AGENT
from session_memory.adapters.shared_wiring.client import (
    Client,
    Files,
    InstallContext,
    claude_groups,
    command_server,
    usual_root,
)
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.adapters.shared_wiring.parts import JsonHooks, TomlServer

# Grok passes nothing on that a hook prints at a session's start, but what one prints after a tool.
EVENTS = {
    "SessionStart": 5,
    "PostToolUse": 5,
    "SessionEnd": 5,
    "Stop": 5,
    "SubagentStop": 5,
    "PreCompact": 5,
}

root = usual_root(AGENT)


def files(context: InstallContext, launchers: Launchers) -> Files:
    """Every file in its folder of hooks is read, so ours needs no other entry."""
    where = os.path.join(context.project, ".grok") if context.project else root(context)
    hooks = JsonHooks(claude_groups(launchers, AGENT.name, EVENTS))
    server = TomlServer(command_server(launchers, startup_timeout_sec=30))
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
