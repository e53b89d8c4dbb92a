"""Which agents a command is about, and which project it was started in."""

from __future__ import annotations

import os
import shutil

from session_memory.adapters import registry
from session_memory.adapters.shared_wiring.client import Client, InstallContext
from session_memory.errors import Refused, UsageError


def chosen(names: tuple[str, ...]) -> list[Client]:
    """The agents of these names, which may also be joined by commas."""
    words = [word.strip() for name in names for word in name.split(",") if word.strip()]
    clients = registry.clients()
    for word in words:
        if word not in clients and (agent := registry.find_agent(word)) is not None:
            hint = f"its logs are read without that; these can be: {', '.join(clients)}"
            raise UsageError(f"{agent.title} cannot be wired", hint=hint)
        if word not in clients:
            raise UsageError(f"no agent is called {word!r}", hint=f"known: {', '.join(clients)}")
    return [client for name, client in clients.items() if name in words]


def present(context: InstallContext) -> list[Client]:
    """Agents that were used here, or that are installed."""
    path = context.environ.get("PATH")
    return [
        client
        for client in registry.clients().values()
        if os.path.isdir(client.root(context))
        or any(shutil.which(program, path=path) for program in client.programs)
    ]


def project_root(start: str, home: str) -> str:
    """The repository a directory is in, or the directory; a whole home is no project."""
    here = os.path.realpath(start)
    homes = (os.path.realpath(home), os.path.dirname(here) if here == os.sep else os.sep)
    while here not in homes:
        if os.path.lexists(os.path.join(here, ".git")):
            return here
        here = os.path.dirname(here)
    directory = os.path.realpath(start)
    if directory in homes:
        raise Refused(f"{directory} is no project", hint="change into one, or leave --project out")
    return directory
