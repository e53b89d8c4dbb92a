"""Where our commands and files are on this machine.

Agents run two launchers in our data directory, next to a copy of the hook file. Their paths and the
commands that name them stay the same when the package is upgraded or moves: only the launchers are
rewritten. Codex trusts a hook by its exact command, so a changed one would silently be skipped.
A launcher also leaves quietly where the interpreter or the hook file is gone; run directly, Python
would exit with 2 for a missing file, and Claude Code takes 2 from a hook for "block".

The server is the absolute interpreter with `-m session_memory`: it needs no PATH, works from any
kind of install, and an upgrade in the same environment changes nothing about it. A console script
would be locked by Windows while a server runs. `-I` keeps the project the agent works in, which is
the current directory, out of the import path: a folder `session_memory` there would run for us.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import msgspec

from session_memory.adapters.shared_wiring import commands
from session_memory.adapters.shared_wiring.parts import PLACE_VARIABLES
from session_memory.paths import HOME_VARIABLE, Paths, find_paths


class Launchers(msgspec.Struct, frozen=True):
    """How agents start our programs on this machine, and where our files are."""

    python: str
    isolation: str
    """`-I`, or `-P` for a package in the user's own site directory, which `-I` leaves out."""
    folder: Path
    """Of the launcher and the hook's copy."""
    state: Path
    data: Path
    """Of the ledger; it does not move with `store.path`."""
    environ: dict[str, str] = {}
    """For the server."""
    hook_home: str | None = None
    """Value of SESSION_MEMORY_HOME that leads the hook to `state`, where nothing else does."""
    config: str | None = None
    windows: bool = False

    @property
    def hook_launcher(self) -> Path:
        """What agents run at their events."""
        return self.folder / (f"{commands.HOOK}.cmd" if self.windows else commands.HOOK)

    @property
    def server_launcher(self) -> Path:
        """What agents run as their MCP server; not on Windows."""
        return self.folder / commands.SERVER_LAUNCHER

    @property
    def hook_file(self) -> Path:
        """The copy of hooks/entry.py."""
        return self.folder / "entry.py"

    @property
    def compiled_hook(self) -> Path:
        """The same as bytecode, which starts in a fraction of the time."""
        return self.folder / "entry.pyc"

    def hook(self, event: str, client: str) -> str:
        """The command line for one event."""
        if self.windows:
            return f'"{self.hook_launcher}" {event} {client}'
        return commands.hook_line(str(self.hook_launcher), event, client)

    def hook_program(self) -> list[str]:
        """What a plug-in of ours starts, with event and agent behind it."""
        return [f'"{self.hook_launcher}"' if self.windows else str(self.hook_launcher)]

    def hook_words(self, event: str, client: str) -> list[str]:
        """The same for an agent that starts a program without a shell."""
        if self.windows:
            return [str(self.hook_launcher), event, client]
        return commands.hook_words(str(self.hook_launcher), event, client)

    def program(self, *words: str) -> list[str]:
        """The command line of one of our verbs."""
        named = ["--config", self.config] if self.config else []
        return [self.python, self.isolation, "-m", "session_memory", *named, *words]

    def server(self) -> list[str]:
        """The command line of the MCP server, as it stands in agents' settings."""
        if self.windows:
            return self.direct_server()
        return commands.server_words(str(self.server_launcher))

    def direct_server(self) -> list[str]:
        """The server itself; it never ends of its own, as no client starts an ended one again."""
        return self.program("mcp", *commands.SERVER_OPTIONS)


def find_launchers(environ: Mapping[str, str], paths: Paths, config: str | None) -> Launchers:
    """Our commands, as this process is installed."""
    standard = find_paths(environ)
    hook_home = environ.get(HOME_VARIABLE)
    if paths.state != standard.state:  # `store.path` moves the state to `<store>/state`
        hook_home = str(paths.state.parent)
        config = config or (str(paths.config_file) if paths.config_file.exists() else None)
    elif hook_home:
        hook_home = str(paths.state.parent)  # absolute, whatever was written in the variable
    needed = {name: environ[name] for name in PLACE_VARIABLES if environ.get(name)}
    needed.pop("CODEX_HOME", None)  # for Codex alone, which drops it
    if HOME_VARIABLE in needed:
        needed[HOME_VARIABLE] = str(standard.data.parent)
    return Launchers(
        python=sys.executable,
        isolation=_isolation(),
        folder=standard.data / "hooks",
        state=paths.state,
        data=standard.data,
        environ=needed,
        hook_home=hook_home,
        config=os.path.abspath(config) if config else None,
        windows=sys.platform == "win32",
    )


def is_passing(python: str) -> bool:
    """Whether an interpreter lives in a cache that is emptied at will (`uvx`, `pipx run`)."""
    parts = Path(python).parts
    return any(f"{a}/{b}" in _CACHES for a, b in pairwise(parts))


_CACHES = frozenset(
    {"uv/archive-v0", "uv/environments-v2", "uv/builds-v0", "pipx/.cache", ".cache/pipx"}
)
"""Pairs of folders: of uv, and of pipx, whose lasting environments are in `pipx/venvs`."""


def _isolation() -> str:
    import site

    here = os.path.realpath(__file__)
    own = os.path.realpath(site.getusersitepackages())
    return "-P" if here.startswith(own + os.sep) else "-I"
