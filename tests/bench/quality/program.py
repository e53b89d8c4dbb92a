"""The program as a user runs it: its command line, in a home of its own, on the labelled logs."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.bench.child import Home

LOG_FOLDERS = {"claude": "projects", "codex": "sessions", "gemini": "tmp"}
"""What an agent calls the folder below its own that holds logs."""
COMMAND_LOOP = Path(__file__).with_name("command_loop.py")
_DONE = (0, 3)  # done, and done with warnings


class Program:
    """Runs commands; everything it writes is below `folder`."""

    def __init__(self, folder: Path) -> None:
        self._home = Home(folder)
        self._config = folder / "config.toml"
        self._directory = folder / "home"
        self._directory.mkdir(parents=True, exist_ok=True)
        self._loop = subprocess.Popen(
            [sys.executable, str(COMMAND_LOOP)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self._home.environment(),
            cwd=self._directory,
            text=True,
            encoding="utf-8",
        )

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._loop.communicate()  # closes its stdin, which ends it

    def json(self, *arguments: str) -> Any:
        """What a command answers in JSON; None where it found nothing."""
        assert self._loop.stdin is not None and self._loop.stdout is not None
        given = ["--config", str(self._config), *arguments]
        print(json.dumps(given), file=self._loop.stdin, flush=True)
        code, out, err = json.loads(self._loop.stdout.readline())
        if code in _DONE:
            return json.loads(out)
        if _error_code(err) == "not_found":
            return None
        raise RuntimeError(f"{' '.join(arguments)[:200]}: exit {code}: {err}")

    def capture(self, logs: Path) -> None:
        """Sweep anew, then do all that hooks and the worker would have done by session."""
        shutil.rmtree(self._home.root / "memory", ignore_errors=True)
        self._config.write_text(source_settings(logs), encoding="utf-8")
        for step in (
            ("sweep",),
            ("project", "memory", "extract", "--now"),
            ("project", "memory", "consolidate", "--all"),
            ("project", "journal", "flush", "--all"),
            ("worker", "run"),
        ):
            self.json(*step, "--json")

    def remember_with(self, url: str, logs: Path) -> list[str]:
        """Sweep anew and make memories with a model at this address; every text that was kept."""
        shutil.rmtree(self._home.root / "memory", ignore_errors=True)
        self._config.write_text(source_settings(logs) + model_settings(url), encoding="utf-8")
        self.json("sweep", "--json")
        while self.json("project", "memory", "extract", "--now", "--json")["written"]:
            pass
        self.json("project", "memory", "consolidate", "--all", "--json")
        memories = self._home.root / "memory" / "data" / "memories"
        return [path.read_text(encoding="utf-8") for path in sorted(memories.rglob("*.md"))]

    def told_at_start(self, directory: str) -> str:
        """What the hook prints into a new session in this directory."""
        # As the installer writes it, but without a worker: nothing may run after we have ended.
        settings = self._home.root / "memory" / "state" / "hook.json"
        settings.write_text('{"inject": true}', encoding="utf-8")
        hook = importlib.util.find_spec("session_memory.hooks.entry")
        assert hook is not None and hook.origin is not None
        payload = {"session_id": "a-new-session", "cwd": directory, "source": "startup"}
        done = subprocess.run(
            [sys.executable, "-I", "-S", hook.origin, "session_start", "claude"],
            input=json.dumps(payload),
            env=self._home.environment(),
            cwd=self._directory,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            check=True,
        )
        if not done.stdout.strip():
            return ""
        return json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]


def has_store(folder: Path) -> bool:
    """Whether something was captured into this folder."""
    return Home(folder).store.exists()


def _error_code(stderr: str) -> str | None:
    """The code of the error that --json makes the last line of stderr."""
    try:
        return json.loads(stderr.strip().splitlines()[-1])["error"]["code"]
    except (IndexError, KeyError, TypeError, ValueError):
        return None


def source_settings(logs: Path) -> str:
    """Settings that point each agent at its folders below `logs` (AGENT/REPOSITORY/FOLDER)."""
    parts: list[str] = []
    for agent, name in LOG_FOLDERS.items():
        folders = sorted(str(path) for path in logs.glob(f"{agent}/*/{name}"))
        # JSON's arrays of strings are TOML's too.
        parts.append(f"[sources.{agent}]\nenabled = {str(bool(folders)).lower()}\n")
        parts.append(f"paths = {json.dumps(folders)}\n")
    return "".join(parts)


def model_settings(url: str) -> str:
    """Settings for a model at this address, with room for every labelled session."""
    caps = "run_max_calls = 10000\nrun_max_tokens = 1000000000\nday_max_tokens = 1000000000\n"
    where = f'provider = "openai"\nbase_url = "{url}/v1"\nname = "scripted"\n'
    memory = "[memory]\nmax_traces = 1000\n"  # files of older traces would be removed
    return f"{memory}[model]\n{where}{caps}run_max_usd = 1000.0\nday_max_usd = 1000.0\n"
