"""Every client that can be wired, in the order of every report."""

from __future__ import annotations

from session_memory.errors import UsageError
from session_memory.install import claude, codex, copilot, gemini, grok, opencode, pi, qwen
from session_memory.install.client import Client

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
