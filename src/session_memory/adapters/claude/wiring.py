"""Claude Code: hooks in its settings, the server in the file that `claude mcp add` writes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from session_memory.adapters.claude import AGENT
from session_memory.adapters.shared_wiring.client import (
    Client,
    Files,
    InstallContext,
    Switch,
    claude_groups,
    json_server,
    usual_root,
)
from session_memory.adapters.shared_wiring.json_text import as_list, as_object
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.adapters.shared_wiring.parts import SERVER, JsonHooks
from session_memory.adapters.shared_wiring.policies import Block, ReadSettings, Settings, switches

# Without a time-out of their own all SessionEnd hooks share 1.5 s.
EVENTS = {
    "SessionStart": 10,
    "UserPromptSubmit": 10,
    "SessionEnd": 10,
    "Stop": 10,
    "SubagentStop": 10,
    "PreCompact": 10,
}
# For guards: tools that neither run a command nor read or change a file are not waited for.
TOOL_EVENTS = {"PreToolUse": 10}
TOOLS = "Bash|PowerShell|Read|Edit|MultiEdit|Write|NotebookEdit"

root = usual_root(AGENT)


def files(context: InstallContext, launchers: Launchers) -> Files:
    """Settings, and the file with the servers of the user or of one project."""
    moved = context.environ.get("CLAUDE_CONFIG_DIR")
    servers = os.path.join(root(context) if moved else context.home, ".claude.json")
    settings = os.path.join(root(context), "settings.json")
    where: tuple[str, ...] = ("mcpServers",)
    if context.project:
        # Both are personal: what the team shares would name paths of this machine.
        settings = os.path.join(context.project, ".claude", "settings.local.json")
        where = ("projects", context.project, "mcpServers")
    hooks = (
        *claude_groups(launchers, AGENT.name, EVENTS),
        *claude_groups(launchers, AGENT.name, TOOL_EVENTS, matcher=TOOLS),
    )
    return {
        settings: (JsonHooks(hooks),),
        servers: (json_server(launchers, *where),),
    }


def blocks(context: InstallContext, launchers: Launchers, read: ReadSettings) -> Iterator[Block]:
    """What an administrator's files, and the lists in the user's own settings, stop."""
    folder = context.system.folder(
        "/etc/claude-code",
        "/Library/Application Support/ClaudeCode",
        "C:\\Program Files\\ClaudeCode",
    )
    own = os.path.join(root(context), "settings.json")
    files = [*_managed_files(folder), *_preferences(context)]
    managed = {path: read(path) for path in files}
    for path, settings in managed.items():
        stops = {"disableAllHooks": True, "allowManagedHooksOnly": True}
        yield from switches(settings, path, hooks=stops)
        yield from _plugins_only(settings, path)
    fixed = os.path.join(folder, "managed-mcp.json")
    servers = read(fixed).get("mcpServers")
    if servers is not None and SERVER not in as_object(servers):
        yield Block("mcp", fixed, "only the servers in this file are loaded")
    yield from _server_lists(managed, (own, read(own)), launchers.server())


def _preferences(context: InstallContext) -> list[str]:
    """What device management of macOS delivers: for this user, and for all."""
    if context.system.platform != "darwin":
        return []
    folder = context.system.folder("", "/Library/Managed Preferences", "")
    user = os.path.basename(context.home)
    name = "com.anthropic.claudecode.plist"
    return [os.path.join(folder, user, name), os.path.join(folder, name)]


def _managed_files(folder: str) -> list[str]:
    more = os.path.join(folder, "managed-settings.d")
    try:
        names = sorted(os.listdir(more))
    except OSError:
        names = []
    added = [os.path.join(more, name) for name in names if name.endswith(".json")]
    return [os.path.join(folder, "managed-settings.json"), *added]


def _plugins_only(settings: Settings, path: str) -> Iterator[Block]:
    strict = settings.get("strictPluginOnlyCustomization")
    for what in ("hooks", "mcp"):
        if strict is True or what in as_list(strict):
            yield Block(what, path, "strictPluginOnlyCustomization")


def _server_lists(
    managed: dict[str, Settings], own: tuple[str, Settings], command: list[str]
) -> Iterator[Block]:
    """Denied anywhere is denied; allowed lists add up, unless only the managed one counts."""
    for path, settings in (*managed.items(), own):
        if any(_names_us(entry, command) for entry in as_list(settings.get("deniedMcpServers"))):
            yield Block("mcp", path, f"deniedMcpServers names {SERVER}", managed=path != own[0])
    lists = {path: settings.get("allowedMcpServers") for path, settings in managed.items()}
    only_managed = any(s.get("allowManagedMcpServersOnly") is True for s in managed.values())
    if not only_managed:
        lists[own[0]] = own[1].get("allowedMcpServers")
    allowed = {path: as_list(entries) for path, entries in lists.items() if entries is not None}
    if not allowed:
        return
    entries: list[Any] = [entry for listed in allowed.values() for entry in listed]
    by_command = [entry for entry in entries if as_object(entry).get("serverCommand")]
    # Where some entry gives a command, a name alone does not allow a local server.
    if not any(_names_us(entry, command) for entry in by_command or entries):
        path = next(iter(allowed))
        text = f"allowedMcpServers does not name {SERVER}"
        yield Block("mcp", path, text, managed=path != own[0])


def _names_us(entry: Any, command: list[str]) -> bool:
    server = as_object(entry)
    return server.get("serverName") == SERVER or server.get("serverCommand") == command


SWITCHES = (Switch("hooks", "settings.json", ("disableAllHooks",), off=True),)
CLIENT = Client(
    name=AGENT.name,
    programs=("claude",),
    root=root,
    files=files,
    switches=SWITCHES,
    blocks=blocks,
    oldest="1.0.85",  # the first with SessionEnd
    update="claude update",
)
