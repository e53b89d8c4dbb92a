"""Whether agents are wired as they should be, and whether what they run is there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from session_memory.adapters.shared_wiring import commands, parts
from session_memory.adapters.shared_wiring.client import Approvals, Client, InstallContext
from session_memory.adapters.shared_wiring.launchers import Launchers, is_passing
from session_memory.adapters.shared_wiring.parts import SERVER
from session_memory.clock import iso
from session_memory.core.text.safe_text import one_line
from session_memory.errors import Refused
from session_memory.install import hook_files
from session_memory.install.ledger import Ledger
from session_memory.install.plan import (
    ReadFile,
    WiringState,
    refusal,
    skipped_hooks,
    switched_off,
    wiring_state,
)

Result = Literal["pass", "warn", "fail"]


class Check(msgspec.Struct, frozen=True):
    """One thing the doctor looked at."""

    name: str
    result: Result
    detail: str
    fix: str | None = None
    """A command, or what to do in words."""
    fixable: bool = False
    """Whether `doctor --fix` does it."""


RECENT_DAYS = 7
_ROOM = "free some space; `session-memory store retention plan` shows what could go"
_OWN = "do what `owner` and `modes` above say; else make that folder writable"
_HOOK_FIXES = {
    "spool is full": "session-memory worker run",
    "disk full": _ROOM,
    "OSError 28": _ROOM,
    "not a directory of ours": _OWN,
    "PermissionError": _OWN,
}
"""Words of an error, to its fix; any other error may come from an older hook file."""
CROWDED = 1000
"""This many waiting records mean that no worker processes them."""
INIT = "session-memory init"
NOT_WIRED = "not wired"
"""The detail for an agent that is here and not wired."""


def check_hook_files(launchers: Launchers, ledger: Ledger | None) -> Check:
    """The files that agents run: there, of this version, for the owner alone."""
    states = hook_files.states(launchers)
    bad = {path.name: state for path, state in states.items() if state != "current"}
    if not bad:
        return Check("hook files", "pass", f"{launchers.hook_launcher} is of this version")
    detail = ", ".join(f"{name} {state}" for name, state in bad.items())
    profile = hook_files.served_profile(launchers)
    if profile not in (None, commands.PROFILE):
        detail += f"; agents are given the tools of the profile {profile}, not {commands.PROFILE}"
    if ledger is not None and not ledger.entries:
        return Check("hook files", "warn", "no agent is wired", INIT)
    # Agents are configured to run them: without them nothing is recorded any more.
    result = "fail" if "missing" in bad.values() else "warn"
    return Check("hook files", result, detail, f"{INIT} --yes", fixable=True)


def check_program(launchers: Launchers) -> Check:
    """The interpreter that hooks, worker and server are run with."""
    named = hook_files.interpreter(launchers)
    if named is not None and not os.path.exists(named):
        detail = f"agents run {named}, which is not there any more"
        return Check("program", "fail", detail, f"{INIT} --yes", fixable=True)
    if named is not None and named != launchers.python:
        detail = f"agents run {named}, and this is {launchers.python}"
        return Check("program", "warn", detail, f"{INIT} --yes", fixable=True)
    if is_passing(launchers.python):
        detail = f"{launchers.python} is in a cache that may be emptied at any time"
        return Check("program", "warn", detail, f"uv tool install session-memory, then {INIT}")
    return Check("program", "pass", launchers.python)


def check_agents(
    clients: Iterable[Client],
    context: InstallContext,
    launchers: Launchers,
    read_file: ReadFile,
    skipped: Collection[str] = (),
) -> Iterator[Check]:
    """How each agent that is here is wired."""
    for client in clients:
        state = wiring_state(client, context, launchers, read_file)
        if "refused" in (state.hooks, state.mcp):
            why = refusal(client, context, launchers, read_file)
            fix = f"fix the file, then {INIT} --agent {client.name}"
            yield Check(client.name, "fail", why, fix)
            continue
        if client.name in skipped and {state.hooks, state.mcp} <= {None, "absent"}:
            yield Check(client.name, "pass", "not wired: left out with `init --skip`")
            continue
        yield _check_agent(client, state, read_file)
        if client.approvals is not None and state.hooks == "wired":
            yield _check_approvals(client.name, client.approvals, state.files, read_file)


def _check_agent(client: Client, state: WiringState, read_file: ReadFile) -> Check:
    detail = f"hooks {state.hooks or 'not possible'}, mcp {state.mcp or 'not possible'}"
    states = {state.hooks, state.mcp} - {None}
    wire = f"{INIT} --agent {client.name}"
    if states <= {"wired", "hand-made"}:
        if missing := _missing_command(state, read_file):
            fix = f"remove the entry {SERVER!r} that runs it, then {wire}"
            return Check(client.name, "warn", f"{detail}, and {missing} is not there", fix)
        return Check(client.name, "pass", detail)
    if "off" in states and states <= {"off", "wired", "hand-made"}:
        settings = [
            f"`{'.'.join(switch.path)}` from {path}"
            for switch, path in switched_off(client, state.files, read_file)
        ]
        fix = f"remove {', '.join(settings)} and restart {client.name}"
        return Check(client.name, "warn", detail, fix)
    if states == {"absent"}:
        return Check(client.name, "warn", NOT_WIRED, wire)
    if "outdated" in states and (missing := _gone_launchers(state, read_file)):
        detail += f": {', '.join(missing)} is not there any more"
    return Check(client.name, "warn", detail, wire, fixable="outdated" in states)


def _missing_command(state: WiringState, read_file: ReadFile) -> str | None:
    """The program of a server entry made by hand, where it cannot be found."""
    if state.mcp != "hand-made":
        return None
    for path in state.files:
        text = (read_file(path).data or b"").decode("utf-8", "replace")
        for program in parts.server_programs(text, is_toml=path.endswith(".toml")):
            if shutil.which(program) is None:
                return program
    return None


def _gone_launchers(state: WiringState, read_file: ReadFile) -> list[str]:
    """Launchers and interpreters that an agent's files name and that do not exist."""
    named: set[str] = set()
    for path in state.files:
        text = (read_file(path).data or b"").decode("utf-8", "replace")
        named |= commands.launchers_in(text)
        named |= set(parts.server_programs(text, is_toml=path.endswith(".toml")))
    return sorted(path for path in named if os.path.isabs(path) and not os.path.exists(path))


def _check_approvals(
    agent: str, approvals: Approvals, files: Iterable[str], read_file: ReadFile
) -> Check:
    """Whether an agent runs our hooks; it says nothing of those it skips."""
    name = f"{agent} trust"
    hooks = next(path for path in files if path.endswith(approvals.hooks_file))
    config = next(path for path in files if path.endswith(approvals.config_file))
    try:
        text = (read_file(hooks).data or b"").decode("utf-8")
        approval = approvals.tables(hooks, text)
        skipped = skipped_hooks((read_file(config).data or b"").decode("utf-8"), approval)
    except (Refused, UnicodeDecodeError) as error:
        return Check(name, "warn", f"cannot be read: {error}", "fix the file")
    if skipped:
        detail = f"{skipped} of {len(approval.tables)} hooks are skipped silently"
        return Check(name, "warn", detail, approvals.how)
    return Check(name, "pass", f"{len(approval.tables)} hooks are approved")


def check_spool(counts: Mapping[str, int]) -> Check:
    """Whether the events that hooks recorded are processed."""
    waiting, damaged = counts.get("waiting", 0), counts.get("damaged", 0)
    detail = f"{waiting} records wait, {damaged} damaged"
    if waiting >= CROWDED:
        return Check("spool", "warn", detail, "session-memory worker run")
    return Check("spool", "pass", detail)


def check_hook_log(state: Path, now: int) -> Check:
    """Errors that hooks logged in the last days."""
    log = state / "hook-errors.log"
    try:
        lines = log.read_bytes()[-65_536:].decode("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    since = iso(now - RECENT_DAYS * 86_400_000) or ""
    recent = [line for line in lines if line[:20] >= since[:19]]
    if not recent:
        return Check("hook log", "pass", f"no hook failed in the last {RECENT_DAYS} days")
    time, _, what = one_line(recent[-1]).partition(" ")
    times = "once" if len(recent) == 1 else f"{len(recent)} times"
    detail = f"hooks failed {times} in the last {RECENT_DAYS} days, last at {time}: {what}"
    fix = next((fix for word, fix in _HOOK_FIXES.items() if word in what), f"{INIT} --yes")
    return Check("hook log", "warn", f"{detail} ({log})", fix)
