"""GitHub Copilot CLI: a hook file of our own, and the server in its list of servers."""

from __future__ import annotations

import os

from session_memory.adapters.copilot import AGENT
from session_memory.adapters.shared_wiring import commands
from session_memory.adapters.shared_wiring.client import (
    Client,
    Files,
    InstallContext,
    json_server,
    usual_root,
)
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.adapters.shared_wiring.parts import Handler, JsonHooks, Part

EVENTS = ("sessionStart", "sessionEnd", "agentStop", "subagentStop", "preCompact")

root = usual_root(AGENT)


def files(context: InstallContext, launchers: Launchers) -> Files:
    """Hooks; servers only for the user, since a project has no list of its own."""
    where = os.path.join(context.project, ".github") if context.project else root(context)
    parts: dict[str, tuple[Part, ...]] = {
        os.path.join(where, "hooks", "session-memory.json"): (_hooks(launchers),)
    }
    if not context.project:
        server = json_server(launchers, "mcpServers", type="local", tools=["*"])
        parts[os.path.join(where, "mcp-config.json")] = (server,)
    return parts


def _hooks(launchers: Launchers) -> JsonHooks:
    key = "powershell" if launchers.windows else "bash"
    handlers = tuple(
        Handler(
            event,
            {"type": "command", key: _command(launchers, event), "timeoutSec": 10},
            nested=False,
            vital=(key,),
        )
        for event in EVENTS
    )
    return JsonHooks(handlers, seed='{\n  "version": 1\n}')


def _command(launchers: Launchers, event: str) -> str:
    if launchers.windows:
        return commands.powershell_line(str(launchers.hook_launcher), event, AGENT.name)
    return launchers.hook(event, AGENT.name)


CLIENT = Client(
    name=AGENT.name,
    programs=("copilot",),
    root=root,
    files=files,
)
