"""Qwen Code: Gemini's settings file with Claude's events."""

from __future__ import annotations

import os
from collections.abc import Iterator

from session_memory.adapters.gemini.wiring import FILE, SWITCHES, settings_blocks
from session_memory.adapters.qwen import AGENT
from session_memory.adapters.shared_wiring.client import (
    Client,
    Files,
    InstallContext,
    claude_groups,
    json_server,
    usual_root,
)
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.adapters.shared_wiring.parts import JsonHooks
from session_memory.adapters.shared_wiring.policies import Block, ReadSettings

# In milliseconds.
EVENTS = {
    "SessionStart": 10_000,
    "SessionEnd": 10_000,
    "Stop": 10_000,
    "SubagentStop": 10_000,
    "PreCompact": 10_000,
}

root = usual_root(AGENT)


def files(context: InstallContext, launchers: Launchers) -> Files:
    """The settings."""
    where = os.path.join(context.project, ".qwen") if context.project else root(context)
    hooks = JsonHooks(claude_groups(launchers, AGENT.name, EVENTS, matcher="*"))
    return {os.path.join(where, FILE): (hooks, json_server(launchers, "mcpServers"))}


def blocks(context: InstallContext, launchers: Launchers, read: ReadSettings) -> Iterator[Block]:
    """What the settings of this machine stop, and the lists of servers in the user's own."""
    folder = context.system.folder(
        "/etc/qwen-code", "/Library/Application Support/QwenCode", "C:\\ProgramData\\qwen-code"
    )
    named = context.environ.get("QWEN_CODE_SYSTEM_SETTINGS_PATH")
    yield from settings_blocks(named or os.path.join(folder, FILE), root(context), read)


CLIENT = Client(
    name=AGENT.name,
    programs=("qwen",),
    root=root,
    files=files,
    switches=SWITCHES,
    blocks=blocks,
)
