"""Whether agents are wired as they should be, and whether what they run is there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from session_memory.adapters.wiring.client import Approvals, Client, InstallContext
from session_memory.adapters.wiring.launchers import Launchers, is_passing
from session_memory.core.text.safe_text import one_line
from session_memory.errors import Refused
from session_memory.install import hook_files
from session_memory.install.ledger import Ledger
from session_memory.install.plan import ReadFile, WiringState, skipped_hooks, wiring_state

Result = Literal["pass", "warn", "fail"]


class Check(msgspec.Struct, frozen=True):
    """One thing the doctor looked at."""

    name: str
    result: Result
    detail: str
    fix: str | None = None
    """A command, or what to do in words."""


CROWDED = 1000
"""So many waiting records mean that no worker gets to them."""
INIT = "session-memory init"


def check_hook_files(launchers: Launchers, ledger: Ledger) -> Check:
    """The files that agents run: there, of this version, for the owner alone."""
    states = hook_files.states(launchers)
    bad = {path.name: state for path, state in states.items() if state != "current"}
    if not bad:
        return Check("hook files", "pass", f"{launchers.hook_launcher} is of this version")
    detail = ", ".join(f"{name} {state}" for name, state in bad.items())
    if not ledger.entries:
        return Check("hook files", "warn", "no agent is wired", INIT)
    # Agents are detail to run them: a missing one means that nothing is noted any more.
    result = "fail" if "missing" in bad.values() else "warn"
    return Check("hook files", result, detail, f"{INIT} --yes")


def check_program(launchers: Launchers) -> Check:
    """The interpreter that hooks, worker and server are run with."""
    if is_passing(launchers.python):
        detail = f"{launchers.python} is in a cache that may be emptied at any time"
        return Check("program", "warn", detail, f"uv tool install session-memory, then {INIT}")
    return Check("program", "pass", launchers.python)


def check_agents(
    clients: Iterable[Client], context: InstallContext, launchers: Launchers, read_file: ReadFile
) -> Iterator[Check]:
    """How each agent that is here is wired."""
    for client in clients:
        state = wiring_state(client, context, launchers, read_file)
        yield _check_agent(client, state)
        if client.approvals is not None and state.hooks == "wired":
            yield _check_approvals(client.name, client.approvals, state.files, read_file)


def _check_agent(client: Client, state: WiringState) -> Check:
    detail = f"hooks {state.hooks or 'not possible'}, mcp {state.mcp or 'not possible'}"
    states = {state.hooks, state.mcp} - {None}
    if "refused" in states:
        files = f"one of {', '.join(state.files)} cannot be understood"
        return Check(client.name, "fail", files, "fix the file, then session-memory init")
    if states == {"wired"}:
        return Check(client.name, "pass", detail)
    if "off" in states and states <= {"off", "wired"}:
        fix = "a setting of yours switches it off; see the agent's docs"
        return Check(client.name, "warn", detail, fix)
    return Check(client.name, "warn", detail, f"{INIT} --agent {client.name}")


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


def check_hook_log(state: Path) -> Check:
    """The last error a hook logged."""
    try:
        lines = (state / "hook-errors.log").read_bytes()[-4096:].splitlines()
    except OSError:
        lines = []
    if not lines:
        return Check("hook log", "pass", "no hook errors")
    last = one_line(lines[-1].decode("utf-8", "replace"))
    detail = f"{state / 'hook-errors.log'}, last: {last}"
    return Check(
        "hook log", "warn", detail, f"fix the cause, then remove {state / 'hook-errors.log'}"
    )
