"""Whether agents are wired as they should be, and whether what they run is there."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from session_memory.adapters.codex import wiring as codex
from session_memory.adapters.wiring import toml_edit
from session_memory.adapters.wiring.client import Client, Place
from session_memory.adapters.wiring.json_text import as_object
from session_memory.adapters.wiring.launchers import Ours, is_passing
from session_memory.core.text.safe_text import one_line
from session_memory.errors import Refused
from session_memory.install import hook_files
from session_memory.install.check import Check
from session_memory.install.ledger import Ledger
from session_memory.install.plan import Look, Wiring, wiring

CROWDED = 1000
"""Records that wait: so many mean that no worker gets to them."""
INIT = "session-memory init"


def check_hook_files(ours: Ours, ledger: Ledger) -> Check:
    """The files that agents run: there, of this version, for the owner alone."""
    states = hook_files.states(ours)
    bad = {path.name: state for path, state in states.items() if state != "current"}
    if not bad:
        return Check("hook files", "pass", f"{ours.launcher} is of this version")
    told = ", ".join(f"{name} {state}" for name, state in bad.items())
    if not ledger.entries:
        return Check("hook files", "warn", "no agent is wired", INIT)
    # Agents are told to run them: a missing one means that nothing is noted any more.
    result = "fail" if "missing" in bad.values() else "warn"
    return Check("hook files", result, told, f"{INIT} --yes")


def check_program(ours: Ours) -> Check:
    """The interpreter that hooks, worker and server are run with."""
    if is_passing(ours.python):
        told = f"{ours.python} is in a cache that may be emptied at any time"
        return Check("program", "warn", told, f"uv tool install session-memory, then {INIT}")
    return Check("program", "pass", ours.python)


def check_agents(
    clients: Iterable[Client], place: Place, ours: Ours, look: Look
) -> Iterator[Check]:
    """How each agent that is here is wired."""
    for client in clients:
        found = wiring(client, place, ours, look)
        yield _agent(client, found)
        if client.name == "codex" and found.hooks == "wired":
            yield check_trust(place, look)


def _agent(client: Client, found: Wiring) -> Check:
    name = f"{client.name}"
    told = f"hooks {found.hooks or 'not possible'}, mcp {found.mcp or 'not possible'}"
    states = {found.hooks, found.mcp} - {None}
    if "refused" in states:
        where = f"one of {', '.join(found.files)} cannot be understood"
        return Check(name, "fail", where, "mend the file, then session-memory init")
    if states == {"wired"}:
        return Check(name, "pass", told)
    if "off" in states and states <= {"off", "wired"}:
        return Check(name, "warn", told, "a setting of yours switches it off; see the agent's docs")
    return Check(name, "warn", told, f"{INIT} --agent {client.name}")


def check_trust(place: Place, look: Look) -> Check:
    """Whether Codex runs our hooks; it says nothing of those it skips."""
    folder = codex.folder(place)
    hooks, config = os.path.join(folder, "hooks.json"), os.path.join(folder, "config.toml")
    try:
        text = (look(hooks).data or b"").decode("utf-8")
        settings = (look(config).data or b"").decode("utf-8")
        wanted = codex.trust(hooks, text).tables
        known = {name: as_object(toml_edit.get(settings, name)) for name, _ in wanted}
    except (Refused, UnicodeDecodeError) as error:
        return Check("codex trust", "warn", f"cannot be told: {error}", "mend the file")
    missing = [n for n, v in wanted if known[n].get("trusted_hash") != v["trusted_hash"]]
    off = [name for name, _ in wanted if known[name].get("enabled") is False]
    if missing or off:
        told = f"{len(missing) + len(off)} of {len(wanted)} hooks are skipped silently"
        return Check("codex trust", "warn", told, "start codex, type /hooks, approve them")
    return Check("codex trust", "pass", f"{len(wanted)} hooks are approved")


def check_spool(counts: Mapping[str, int]) -> Check:
    """Whether what hooks noted is worked off."""
    waiting, damaged = counts.get("waiting", 0), counts.get("damaged", 0)
    told = f"{waiting} records wait, {damaged} damaged"
    if waiting >= CROWDED:
        return Check("spool", "warn", told, "session-memory worker run")
    return Check("spool", "pass", told)


def check_hook_log(state: Path) -> Check:
    """The last thing a hook complained of."""
    try:
        lines = (state / "hook-errors.log").read_bytes()[-4096:].splitlines()
    except OSError:
        lines = []
    if not lines:
        return Check("hook log", "pass", "no hook errors")
    last = one_line(lines[-1].decode("utf-8", "replace"))
    told = f"{state / 'hook-errors.log'}, last: {last}"
    return Check("hook log", "warn", told, f"mend it, then remove {state / 'hook-errors.log'}")
