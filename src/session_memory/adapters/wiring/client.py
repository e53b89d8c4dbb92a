"""What a client is to the installer: its files, and what goes into each. One record per client."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Literal

import msgspec

from session_memory.adapters.wiring.launchers import Ours
from session_memory.adapters.wiring.parts import Handler, JsonServer, Part

Files = dict[str, tuple[Part, ...]]
"""Absolute path to what goes into that file, in order."""


class Place(msgspec.Struct, frozen=True):
    """Where a client keeps its configuration, for a user or one project."""

    home: str
    """Of the user."""
    environ: Mapping[str, str] = {}
    project: str | None = None
    """Root of the repository, when only that is to be wired."""

    def directory(self, variable: str | None, usual: str) -> str:
        """A client's own directory: named by its variable, else the usual one."""
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
    """A setting of the user's that turns what we wired off; it is told, never changed."""

    what: Literal["hooks", "mcp"]
    file: str
    """Name of the file it stands in."""
    path: tuple[str, ...]
    off: bool
    """The value that turns it off."""


class Client(msgspec.Struct, frozen=True, kw_only=True):
    """How one agent is wired."""

    name: str
    programs: tuple[str, ...]
    """Names of its executable."""
    root: Callable[[Place], str]
    """Its configuration directory; that it exists says that the client was used here."""
    files: Callable[[Place, Ours], Files]
    notes: tuple[str, ...] = ()
    """What the user has to know or do."""
    switches: tuple[Switch, ...] = ()


def claude_groups(
    ours: Ours, client: str, events: Mapping[str, int], **more: Any
) -> tuple[Handler, ...]:
    """Handlers in the shape that Claude Code made common; `events` gives each its time-out."""
    return tuple(
        Handler(
            event,
            {
                **more,
                "hooks": [
                    {"type": "command", "command": ours.hook(event, client), "timeout": timeout}
                ],
            },
        )
        for event, timeout in events.items()
    )


def command_server(ours: Ours, **more: Any) -> dict[str, Any]:
    """A server entry with command, arguments and environment, the shape most clients share."""
    command, *args = ours.server()
    entry: dict[str, Any] = {"command": command, "args": args}
    if ours.environ:
        entry["env"] = dict(ours.environ)
    return {**entry, **more}


def json_server(ours: Ours, *place: str, **more: Any) -> JsonServer:
    """The server in a JSON file, below `place`."""
    return JsonServer(place, command_server(ours, **more), ("command", "args", "env"))


def _expanded(path: str, home: str) -> str:
    return os.path.join(home, path[2:]) if path.startswith(("~/", "~\\")) else path
