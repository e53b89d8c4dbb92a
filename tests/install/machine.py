"""A home with agents in it, as they leave their files, and our program run there."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from session_memory.__main__ import main
from session_memory.adapters.registry import built_in
from session_memory.adapters.shared_wiring.commands import hook_line, server_words

ROOTS = {
    "claude": ".claude",
    "codex": ".codex",
    "grok": ".grok",
    "gemini": ".gemini",
    "qwen": ".qwen",
    "opencode": ".config/opencode",
    "copilot": ".copilot",
    "pi": ".pi/agent",
    "cowork": ".config/Claude",
    "copilot_chat": ".config/Code/User",
    "cursor": ".cursor",
    "droid": ".factory",
    "crush": ".config/crush",
    "kimi": ".kimi-code",
    "kiro": ".kiro",
    "zed": ".config/zed",
}
WIRED = tuple(name for name, agent in built_in().items() if agent.wiring is not None)
"""Our agents that `init` can wire; the others are only read."""


class Ran(NamedTuple):
    """How the program ended and what it said."""

    code: int
    out: str
    err: str


class Machine:
    """One user's home."""

    def __init__(
        self, home: Path, memory: Path, programs: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.home = home
        self.memory = memory
        self.programs = programs
        self._capsys = capsys

    @property
    def launcher(self) -> Path:
        """What agents are told to run."""
        return self.memory / "data" / "hooks" / "session-memory-hook"

    def hook(self, event: str, agent: str) -> str:
        """The command line that an agent gets."""
        return hook_line(str(self.launcher), event, agent)

    @property
    def server(self) -> list[str]:
        """The server's command that an agent gets."""
        return server_words(str(self.launcher.with_name("session-memory-server")))

    def have(self, *agents: str) -> None:
        """Make the directory that a used agent has."""
        for agent in agents:
            (self.home / ROOTS[agent]).mkdir(parents=True, exist_ok=True)

    def write(self, name: str, text: str | bytes, mode: int = 0o644) -> Path:
        """A file of the user's."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        path.chmod(mode)
        return path

    def run(self, *words: str) -> Ran:
        """Run the program in this process."""
        self._capsys.readouterr()
        code = main(list(words))
        out, err = self._capsys.readouterr()
        return Ran(code, out, err)

    def init(self, *words: str) -> Ran:
        """Wire everything that is here, without the sweep."""
        return self.run("init", "--yes", "--no-sweep", *words)

    def uninstall(self, *words: str) -> Ran:
        """Take everything out again."""
        return self.run("uninstall", "--yes", *words)

    def files(self) -> dict[str, tuple[bytes, int]]:
        """Every file below the home with content and mode, and every folder."""
        found: dict[str, tuple[bytes, int]] = {}
        for path in sorted(self.home.rglob("*")):
            mode = stat.S_IMODE(path.lstat().st_mode)
            content = b"" if path.is_dir() else path.read_bytes()
            found[str(path.relative_to(self.home))] = (content, mode)
        return found

    def json(self, name: str) -> Any:
        """A JSON file of the home."""
        return json.loads((self.home / name).read_bytes().decode("utf-8-sig"))


def commands(hooks: dict[str, list[dict[str, Any]]], event: str) -> list[str]:
    """The commands of an event, in Claude's shape."""
    return [handler["command"] for group in hooks[event] for handler in group["hooks"]]
