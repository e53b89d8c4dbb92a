"""Settings that stop our hooks or our server, above all those that an administrator manages.

They are only read. What is delivered through the registry of Windows or by an agent's own servers
is not seen here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal

import msgspec

from session_memory.adapters.shared_wiring.json_text import as_list, as_object
from session_memory.adapters.shared_wiring.parts import SERVER

Settings = dict[str, Any]
ReadSettings = Callable[[str], Settings]
"""Path to the settings in that file; empty where there is none."""


class Block(msgspec.Struct, frozen=True):
    """One setting that stops something of ours."""

    what: Literal["hooks", "mcp"]
    path: str
    """The file it stands in."""
    setting: str
    managed: bool = True
    """Whether it is the administrator's; else the user can change it."""


class SystemPlaces(msgspec.Struct, frozen=True):
    """Where programs look for settings of the whole machine."""

    platform: str
    root: str = ""
    """In front of every path: tests have a system of their own."""

    def folder(self, linux: str, mac: str, windows: str) -> str:
        """A folder of the system's settings."""
        named = {"darwin": mac, "win32": windows}.get(self.platform, linux)
        return f"{self.root}{named}" if not self.root else os.path.join(self.root, _tail(named))


def _tail(path: str) -> str:
    return path.partition(":")[2].strip("\\") if ":" in path else path.lstrip("/")


def value_at(settings: Settings, dotted: str) -> Any:
    """The value at a path like `mcp.allowed`."""
    value: Any = settings
    for key in dotted.split("."):
        value = as_object(value).get(key)
    return value


def switches(
    settings: Settings,
    path: str,
    hooks: Mapping[str, bool] | None = None,
    mcp: Mapping[str, bool] | None = None,
) -> Iterator[Block]:
    """Settings, by dotted path, that have the value that stops hooks or servers."""
    for dotted, off in (hooks or {}).items():
        if value_at(settings, dotted) is off:
            yield Block("hooks", path, f"{dotted} = {str(off).lower()}")
    for dotted, off in (mcp or {}).items():
        if value_at(settings, dotted) is off:
            yield Block("mcp", path, f"{dotted} = {str(off).lower()}")


def server_lists(settings: Settings, path: str, allowed: str, denied: str) -> Iterator[Block]:
    """Lists of names of servers, at these dotted paths, that leave ours out."""
    names = value_at(settings, allowed)
    if isinstance(names, list) and SERVER not in names:
        yield Block("mcp", path, f"{allowed} does not name {SERVER}")
    if SERVER in as_list(value_at(settings, denied)):
        yield Block("mcp", path, f"{denied} names {SERVER}")
