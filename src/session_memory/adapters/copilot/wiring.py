"""GitHub Copilot CLI: a hook file of our own, and the server in its list of servers."""

from __future__ import annotations

import os

from session_memory.adapters.copilot.agent import AGENT
from session_memory.adapters.wiring import commands
from session_memory.adapters.wiring.client import Client, Files, Place, json_server
from session_memory.adapters.wiring.launchers import Ours
from session_memory.adapters.wiring.parts import Handler, JsonHooks, Part

EVENTS = ("sessionStart", "sessionEnd", "agentStop", "subagentStop", "preCompact")


def root(place: Place) -> str:
    """The configuration directory."""
    return place.directory(AGENT.home_variable, AGENT.homes[0])


def files(place: Place, ours: Ours) -> Files:
    """Hooks; servers only for the user, since a project has no list of its own."""
    where = os.path.join(place.project, ".github") if place.project else root(place)
    found: dict[str, tuple[Part, ...]] = {
        os.path.join(where, "hooks", "session-memory.json"): (_hooks(ours),)
    }
    if not place.project:
        server = json_server(ours, "mcpServers", type="local", tools=["*"])
        found[os.path.join(where, "mcp-config.json")] = (server,)
    return found


def _hooks(ours: Ours) -> JsonHooks:
    key = "powershell" if ours.windows else "bash"
    handlers = tuple(
        Handler(
            event,
            {"type": "command", key: _command(ours, event), "timeoutSec": 10},
            nested=False,
            vital=(key,),
        )
        for event in EVENTS
    )
    return JsonHooks(handlers, seed='{\n  "version": 1\n}')


def _command(ours: Ours, event: str) -> str:
    if ours.windows:
        return commands.powershell_line(str(ours.launcher), event, AGENT.name)
    return ours.hook(event, AGENT.name)


CLIENT = Client(
    name=AGENT.name,
    programs=("copilot",),
    root=root,
    files=files,
)
