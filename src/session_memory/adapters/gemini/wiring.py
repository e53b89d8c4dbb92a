"""Gemini CLI: hooks and server in one settings file."""

from __future__ import annotations

import os
from collections.abc import Iterator

from session_memory.adapters.gemini import AGENT
from session_memory.adapters.shared_wiring.client import (
    Client,
    Files,
    InstallContext,
    Switch,
    claude_groups,
    json_server,
)
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.adapters.shared_wiring.parts import JsonHooks
from session_memory.adapters.shared_wiring.policies import (
    Block,
    ReadSettings,
    server_lists,
    switches,
)

FILE = "settings.json"
# In milliseconds. PreCompress is left out: 0.61.0 fires it before every request to the model.
EVENTS = {
    "SessionStart": 10_000,
    "SessionEnd": 10_000,
    "BeforeAgent": 10_000,
    "AfterAgent": 10_000,
}
# For guards, which Gemini lets add words only to a tool's result.
TOOL_EVENTS = {"BeforeTool": 10_000, "AfterTool": 10_000}
TOOLS = "run_shell_command|read_file|read_many_files|write_file|replace"


def root(context: InstallContext) -> str:
    """The configuration directory; the variable names the home it is in."""
    moved = context.environ.get("GEMINI_CLI_HOME")
    home = context.directory(AGENT.home_variable, AGENT.homes[0])
    return os.path.join(home, ".gemini") if moved else home


def files(context: InstallContext, launchers: Launchers) -> Files:
    """The settings."""
    where = os.path.join(context.project, ".gemini") if context.project else root(context)
    hooks = (
        *claude_groups(launchers, AGENT.name, EVENTS, matcher="*"),
        *claude_groups(launchers, AGENT.name, TOOL_EVENTS, matcher=TOOLS),
    )
    server = json_server(launchers, "mcpServers")
    return {os.path.join(where, FILE): (JsonHooks(hooks), server)}


def blocks(context: InstallContext, launchers: Launchers, read: ReadSettings) -> Iterator[Block]:
    """What the settings of this machine stop, and the lists of servers in the user's own."""
    folder = context.system.folder(
        "/etc/gemini-cli", "/Library/Application Support/GeminiCli", "C:\\ProgramData\\gemini-cli"
    )
    named = context.environ.get("GEMINI_CLI_SYSTEM_SETTINGS_PATH")
    yield from settings_blocks(named or os.path.join(folder, FILE), root(context), read)


def settings_blocks(path: str, own_folder: str, read: ReadSettings) -> Iterator[Block]:
    """What settings of the machine and the user stop, in Gemini CLI and in what was made from it.

    Only the lists of servers of the user's own settings: SWITCHES names the rest of them.
    """
    settings = read(path)
    hooks = {"hooksConfig.enabled": False, "tools.enableHooks": False, "disableAllHooks": True}
    yield from switches(settings, path, hooks=hooks, mcp={"admin.mcp.enabled": False})
    yield from server_lists(settings, path, "mcp.allowed", "mcp.excluded")
    own = os.path.join(own_folder, FILE)
    for block in server_lists(read(own), own, "mcp.allowed", "mcp.excluded"):
        yield Block(block.what, block.path, block.setting, managed=False)


SWITCHES = (
    Switch("hooks", FILE, ("hooksConfig", "enabled"), off=False),
    Switch("hooks", FILE, ("tools", "enableHooks"), off=False),
    Switch("hooks", FILE, ("disableAllHooks",), off=True),
)
CLIENT = Client(
    name=AGENT.name,
    programs=("gemini",),
    root=root,
    files=files,
    switches=SWITCHES,
    blocks=blocks,
    oldest="0.26.0",  # the first with `hooksConfig`, and hooks on by default
    update="npm install -g @google/gemini-cli@latest",
)
