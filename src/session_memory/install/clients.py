"""Every client that can be wired, in the order of every report."""

from __future__ import annotations

from session_memory.adapters.claude import wiring as claude
from session_memory.adapters.codex import wiring as codex
from session_memory.adapters.copilot import wiring as copilot
from session_memory.adapters.gemini import wiring as gemini
from session_memory.adapters.grok import wiring as grok
from session_memory.adapters.opencode import wiring as opencode
from session_memory.adapters.pi import wiring as pi
from session_memory.adapters.qwen import wiring as qwen
from session_memory.adapters.wiring.client import Client
from session_memory.errors import UsageError

CLIENTS: dict[str, Client] = {
    module.CLIENT.name: module.CLIENT
    for module in (claude, codex, grok, gemini, qwen, opencode, copilot, pi)
}


def chosen(names: tuple[str, ...]) -> list[Client]:
    """The clients of these names, which may also be joined by commas."""
    words = [word.strip() for name in names for word in name.split(",") if word.strip()]
    for word in words:
        if word not in CLIENTS:
            raise UsageError(f"no agent is called {word!r}", hint=f"known: {', '.join(CLIENTS)}")
    return [client for name, client in CLIENTS.items() if name in words]
