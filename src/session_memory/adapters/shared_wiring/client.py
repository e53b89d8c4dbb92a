"""How an agent is wired: its files, and what goes into each. One `Client` record per agent."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

import msgspec

from session_memory.adapters.agent import Agent
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.adapters.shared_wiring.parts import (
    Handler,
    JsonServer,
    Part,
    TomlRenames,
    TomlTables,
)
from session_memory.adapters.shared_wiring.policies import Block, ReadSettings, SystemPlaces

Files = dict[str, tuple[Part, ...]]
"""Absolute path to what goes into that file, in order."""


class InstallContext(msgspec.Struct, frozen=True):
    """Whose agents are wired: those of a user, or of one project."""

    home: str
    """The user's home directory."""
    environ: Mapping[str, str] = {}
    project: str | None = None
    """Root of the repository, when only that is to be wired."""
    system: SystemPlaces = SystemPlaces(sys.platform)

    def directory(self, variable: str | None, usual: str) -> str:
        """An agent's own directory: named by its variable, else the usual one."""
        named = self.environ.get(variable, "") if variable else ""
        first = named.split(",")[0].strip()
        if first:
            return os.path.abspath(_expanded(first, self.home))
        return _expanded(usual, self.home)

    def config_home(self) -> str:
        """Where programs that follow XDG keep their configuration."""
        named = self.environ.get("XDG_CONFIG_HOME", "")
        return named if os.path.isabs(named) else os.path.join(self.home, ".config")


class Switch(msgspec.Struct, frozen=True):
    """A setting of the user's that turns off what we wired; we report it and never change it."""

    what: Literal["hooks", "mcp"]
    file: str
    """Name of the file it stands in."""
    path: tuple[str, ...]
    off: bool
    """The value that turns it off."""


class Approvals(msgspec.Struct, frozen=True):
    """How an agent records, in its configuration, that its user approved our hooks."""

    hooks_file: str
    """Name of the file with the hooks."""
    config_file: str
    """Name of the file with the approvals, in the same folder."""
    tables: Callable[[str, str | None], TomlTables]
    """(path and text of the hooks file) to the approval of each hook of ours in it."""
    renames: Callable[[str, str | None], TomlRenames]
    """(path and text of the hooks file) to the new names of others' approvals once ours go."""
    how: str
    """What the user has to do, as a command or in words."""


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """How one agent is wired."""

    name: str
    programs: tuple[str, ...]
    """Names of its executable."""
    root: Callable[[InstallContext], str]
    """Its configuration directory; that it exists says that the client was used here."""
    files: Callable[[InstallContext, Launchers], Files]
    notes: tuple[str, ...] = ()
    """What the user has to know or do; left out where our hooks are approved already."""
    switches: tuple[Switch, ...] = ()
    approvals: Approvals | None = None
    """None for an agent that runs hooks without asking its user."""
    blocks: Callable[[InstallContext, Launchers, ReadSettings], Iterable[Block]] | None = None
    """Settings, managed ones above all, that stop what we wired."""
    oldest: str | None = None
    """The first version that runs every hook we wire; None where that is not known."""
    update: str = ""
    """The command that updates it."""


def usual_root(agent: Agent) -> Callable[[InstallContext], str]:
    """For an agent that keeps its configuration where its logs are."""
    return lambda context: context.directory(agent.home_variable, agent.homes[0])


def claude_groups(
    launchers: Launchers, client: str, events: Mapping[str, int], **more: Any
) -> tuple[Handler, ...]:
    """Handlers in the shape that Claude Code made common; `events` gives each its time-out."""
    return tuple(
        Handler(
            event,
            {
                **more,
                "hooks": [
                    {
                        "type": "command",
                        "command": launchers.hook(event, client),
                        "timeout": timeout,
                    }
                ],
            },
        )
        for event, timeout in events.items()
    )


def command_server(launchers: Launchers, **more: Any) -> dict[str, Any]:
    """A server entry with command, arguments and environment, the shape most clients share."""
    command, *args = launchers.server()
    entry: dict[str, Any] = {"command": command, "args": args}
    if launchers.environ:
        entry["env"] = dict(launchers.environ)
    return {**entry, **more}


def json_server(launchers: Launchers, *path: str, **more: Any) -> JsonServer:
    """The server in a JSON file, in the object at `path`."""
    return JsonServer(path, command_server(launchers, **more), ("command", "args", "env"))


def _expanded(path: str, home: str) -> str:
    return os.path.join(home, path[2:]) if path.startswith(("~/", "~\\")) else path


def app_folder(context: InstallContext, inside: str) -> str:
    """A folder of an app's data: the one that exists, else where this system would keep it."""
    places = [
        os.path.join(context.config_home(), inside),
        os.path.join(context.home, "Library", "Application Support", inside),
    ]
    if data := context.environ.get("APPDATA"):
        places.insert(0, os.path.join(data, inside))
    return next(filter(os.path.isdir, places), places[0])
