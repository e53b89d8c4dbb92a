"""How `init --project` left its files: there, stale, gone, committed, or another machine's."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from session_memory.adapters.shared_wiring import commands, parts
from session_memory.adapters.shared_wiring.client import Client, InstallContext
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.errors import Refused
from session_memory.install.checks import Check
from session_memory.install.ledger import Ledger
from session_memory.install.plan import ReadFile, wiring_state
from session_memory.plain_files import read_plain

LARGEST_INDEX = 64 * 1024 * 1024


def check_projects(
    ledger: Ledger,
    clients: Mapping[str, Client],
    context: InstallContext,
    launchers: Launchers,
    read_file: ReadFile,
) -> Iterator[Check]:
    """Every project that was wired."""
    wired: dict[str, dict[str, list[str]]] = {}
    for entry in ledger.entries:
        if entry.project:
            wired.setdefault(entry.project, {}).setdefault(entry.agent, []).append(entry.path)
    for project, agents in sorted(wired.items()):
        name = f"project {os.path.basename(project)}"
        if not os.path.isdir(project):
            detail = f"{project} was wired and is not there any more"
            yield Check(name, "warn", detail, "session-memory init --project, in its new place")
            continue
        here = replace(context, project=project)
        wired_clients = [client for agent in agents if (client := clients.get(agent))]
        for client in wired_clients:
            yield _check_agent(client, here, launchers, read_file)
        paths = [path for files in agents.values() for path in files]
        yield from _committed(name, project, paths)


def _check_agent(
    client: Client, context: InstallContext, launchers: Launchers, read_file: ReadFile
) -> Check:
    project = str(context.project)
    name = f"project {os.path.basename(project)}"
    state = wiring_state(client, context, launchers, read_file)
    states = {state.hooks, state.mcp} - {None}
    detail = f"{client.name} in {project}: hooks {state.hooks or '-'}, mcp {state.mcp or '-'}"
    again = f"cd {shlex.quote(project)} && session-memory init --project --agent {client.name}"
    if "refused" in states:
        return Check(
            name, "fail", f"{detail}: a file cannot be understood", f"fix it, then {again}"
        )
    if states <= {"wired", "hand-made"}:
        return Check(name, "pass", detail)
    if "absent" in states:
        detail += ": our entries were taken out"
    return Check(name, "warn", detail, again, fixable="outdated" in states)


def _committed(name: str, project: str, paths: list[str]) -> Iterator[Check]:
    """Files of ours that git tracks: they name paths of this machine."""
    try:
        index = read_plain(os.path.join(project, ".git", "index"), LARGEST_INDEX)
    except OSError:
        return
    inside = [os.path.relpath(p, project) for p in paths if p.startswith(project + os.sep)]
    # Git's list of tracked files has their names between other bytes, each with a zero behind it.
    tracked = [path for path in inside if os.fsencode(path.replace(os.sep, "/")) + b"\0" in index]
    if tracked:
        files = " ".join(map(shlex.quote, tracked))
        detail = f"git tracks {', '.join(tracked)}, which name paths of this machine"
        fix = f"git -C {shlex.quote(project)} rm --cached {files}"
        yield Check(name, "warn", detail, fix)


def check_here(
    project: str,
    clients: Mapping[str, Client],
    context: InstallContext,
    launchers: Launchers,
    read_file: ReadFile,
) -> Iterator[Check]:
    """Entries of ours in this repository that this machine did not write."""
    here = replace(context, project=project)
    for client in clients.values():
        for path, our_parts in client.files(here, launchers).items():
            if not path.startswith(project + os.sep):
                continue
            try:
                text = (read_file(path).data or b"").decode("utf-8")
                ours = any(parts.holds(part, text) for part in our_parts)
            except (Refused, UnicodeDecodeError):
                continue
            if ours:
                named = sorted(commands.launchers_in(text))
                missing = [launcher for launcher in named if not os.path.exists(launcher)]
                what = (
                    f"run {missing[0]}, which is not on this machine"
                    if missing
                    else "not noted here"
                )
                yield Check(
                    f"project {os.path.basename(project)}",
                    "warn",
                    f"{path} has entries of session-memory that {what}: wired elsewhere?",
                    f"session-memory init --project --agent {client.name}, to make them yours",
                )
