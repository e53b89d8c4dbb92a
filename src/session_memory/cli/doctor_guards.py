"""The doctor's checks of guards: their table, and the agents that should use it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

import msgspec

from session_memory.adapters.registry import agents
from session_memory.adapters.shared_wiring.client import Client, InstallContext
from session_memory.adapters.shared_wiring.json_text import is_blank
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.adapters.shared_wiring.parts import JsonHooks, WholeFile, our_handlers
from session_memory.cli.app import App
from session_memory.cli.output import counted
from session_memory.cli.store import reading
from session_memory.errors import Refused
from session_memory.guards.table import FILE
from session_memory.install.checks import INIT, Check
from session_memory.install.hook_files import TOOL_EVENTS
from session_memory.install.plan import ReadFile, wiring_state
from session_memory.worker.guard_table import compile_table

RENEW = "session-memory worker run"
TableState = Literal["current", "missing", "outdated", "damaged"]


def table_state(app: App) -> tuple[TableState, int]:
    """How the table compares with what is approved, and how many guards there should be."""
    with reading(app) as store:
        compiled = compile_table(store, app.paths.data, app.config)
    try:
        stored_table = (app.paths.hooks / FILE).read_bytes()
    except FileNotFoundError:
        stored_table = None
    if stored_table == compiled.table:
        return "current", len(compiled.guards)
    if stored_table is None:
        return "missing", len(compiled.guards)
    try:
        msgspec.json.decode(stored_table, type=dict[str, msgspec.Raw])
    except msgspec.MsgspecError:
        return "damaged", len(compiled.guards)
    return "outdated", len(compiled.guards)


def guard_checks(
    app: App, here: Iterable[Client], context: InstallContext, read_file: ReadFile
) -> Iterator[Check]:
    """Whether hooks check what is approved, and every capable agent reports its tools to them."""
    from session_memory.cli import wiring

    launchers = wiring.launchers(app)
    if not launchers.hook_launcher.exists():
        return  # no agent is wired; another check reports that
    state, count = table_state(app)
    rules = counted(count, "approved rule")
    if state != "current":
        detail = f"the table of {rules} is {state}: {app.paths.hooks / FILE}"
        yield Check("guards", "warn", detail, RENEW, fixable=True)
    elif not app.config.guards.enabled:
        yield Check("guards", "pass", "off: guards.enabled is false")
    else:
        yield Check("guards", "pass", f"{rules} checked by hooks")
    if not count:
        return
    for client in here:
        if agents()[client.name].hook.guards and not _reports_tools(
            client, context, launchers, read_file
        ):
            detail = "its hooks see no tool calls, so guards do nothing there"
            fix = f"{INIT} --agent {client.name}"
            yield Check(f"{client.name} guards", "warn", detail, fix, fixable=True)


def _reports_tools(
    client: Client, context: InstallContext, launchers: Launchers, read_file: ReadFile
) -> bool:
    """Whether an agent that we wired reports every tool event that guards need.

    One that is not wired, or cannot be read, is named by the check of its wiring.
    """
    if wiring_state(client, context, launchers, read_file).hooks not in ("wired", "outdated"):
        return True
    for path, our_parts in client.files(context, launchers).items():
        text = (read_file(path).data or b"").decode("utf-8-sig", "replace")
        for part in our_parts:
            if isinstance(part, WholeFile):
                expected = {event for event in TOOL_EVENTS if event in part.text}
                reported = {event for event in TOOL_EVENTS if event in text}
            elif isinstance(part, JsonHooks):
                expected = {handler.event for handler in part.handlers} & {*TOOL_EVENTS}
                reported = _events(text)
            else:
                continue
            if not expected <= reported:
                return False
    return True


def _events(text: str) -> set[str]:
    try:
        return set() if is_blank(text) else {str(path[1]) for path, _ in our_handlers(text)}
    except Refused:
        return set()
