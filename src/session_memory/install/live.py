"""The doctor's end-to-end checks: an event is recorded, captured and found; the server lists tools.

Hook, worker and server run as the processes agents would start, with a temporary home, so that
nothing made up enters the user's store.
"""

from __future__ import annotations

import os
import queue
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.shared_wiring.commands import SERVER_OPTIONS
from session_memory.adapters.shared_wiring.launchers import Launchers
from session_memory.install.checks import Check
from session_memory.store import open_store

TIMEOUT_S = 60
SLOW_MS = 700
"""Codex gives a server a second, its own work included, before a first turn begins without it."""
PASSED_ON = ("PATH", "SYSTEMROOT", "LANG", "TMPDIR", "TEMP", "TMP")


class StepError(Exception):
    """A step that failed; the message says which."""


def starts_compiled(launchers: Launchers) -> bool:
    """Whether the interpreter of agents runs the compiled hook, which has nothing to do here."""
    with tempfile.TemporaryDirectory(prefix="session-memory-doctor-") as folder:
        environ = {**_environ(Path(folder)), "SESSION_MEMORY_INTERNAL": "1"}
        command = [launchers.python, "-I", "-S", str(launchers.compiled_hook), "SessionEnd"]
        return _run(command, environ) == 0


def check_compiled(launchers: Launchers) -> Iterator[Check]:
    """The compiled hook where it does not run: agents then wait for its source to be compiled."""
    if launchers.compiled_hook.exists() and not starts_compiled(launchers):
        detail = f"{launchers.compiled_hook} does not run, so every event starts slower"
        yield Check("compiled hook", "warn", detail, "session-memory doctor --fix", fixable=True)


def round_trip(launchers: Launchers, now: int) -> Check:
    """Send one made-up session through hook, spool, worker and search."""
    started = time.monotonic()
    if not launchers.hook_file.exists():
        return Check("round trip", "warn", "there is no hook file to try", "session-memory init")
    try:
        with tempfile.TemporaryDirectory(prefix="session-memory-doctor-") as folder:
            _send_event(launchers, Path(folder), now)
    except (StepError, OSError, subprocess.SubprocessError) as error:
        return Check("round trip", "fail", str(error), "session-memory init --yes")
    spent = (time.monotonic() - started) * 1000
    detail = f"an event was recorded, captured and found in {spent:.0f} ms"
    return Check("round trip", "pass", detail)


def _send_event(launchers: Launchers, folder: Path, now: int) -> None:
    environ = _environ(folder)
    # It has nothing to read and records nothing, but a disk that runs no programs shows up here.
    if _run([str(launchers.hook_launcher), "SessionEnd", "claude"], environ) != 0:
        raise StepError(f"{launchers.hook_launcher} failed")
    word = f"roundtrip{uuid.uuid4().hex[:12]}"
    log = ClaudeLog(cwd=str(folder), start=now)
    log.prompt(f"please remember {word}")
    log.say("I will.")
    transcript = log.write(folder / "claude")
    payload = {
        "session_id": log.session_id,
        "transcript_path": str(transcript),
        "cwd": str(folder),
        "hook_event_name": "SessionEnd",
    }
    hook = [launchers.python, "-I", "-S", str(launchers.hook_file), "SessionEnd", "claude"]
    if _run(hook, environ, msgspec.json.encode(payload)) != 0:
        raise StepError("the hook failed")
    if not list((folder / "memory" / "state" / "spool").glob("*.json")):
        raise StepError("the hook recorded nothing")
    worker = [launchers.python, launchers.isolation, "-m", "session_memory", "worker", "run"]
    if _run(worker, environ) != 0:
        raise StepError("the worker failed")
    store = open_store(str(folder / "memory" / "data"), now, read_only=True)
    try:
        if not store.search(word, 1):
            raise StepError("what was captured cannot be found")
    finally:
        store.close()


def handshake(launchers: Launchers) -> Check:
    """How long the server takes until an agent knows its tools."""
    with tempfile.TemporaryDirectory(prefix="session-memory-doctor-") as folder:
        program = [launchers.python, launchers.isolation, "-m", "session_memory"]
        command = [*program, "mcp", *SERVER_OPTIONS]
        started = time.monotonic()
        try:
            tools = _talk(command, Path(folder))
        except (StepError, OSError) as error:
            return Check("mcp", "fail", str(error), "session-memory mcp, to see why")
        spent = (time.monotonic() - started) * 1000
    detail = f"{tools} tools listed {spent:.0f} ms after the start"
    if spent > SLOW_MS:
        return Check("mcp", "warn", detail, "agents may start without our tools on a slow machine")
    return Check("mcp", "pass", detail)


def _talk(command: list[str], folder: Path) -> int:
    client = {"name": "session-memory-doctor", "version": "1"}
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    lines: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    process = subprocess.Popen(
        command,
        env=_environ(folder),
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdin is not None
        process.stdin.write(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        process.stdin.flush()
        return _tools(process)
    except BrokenPipeError:
        raise StepError("the server ended before it answered") from None
    finally:
        process.kill()
        process.communicate()


def _tools(process: subprocess.Popen[bytes]) -> int:
    """The number of tools in the second answer."""
    answers: queue.Queue[bytes] = queue.Queue()
    stream = process.stdout
    assert stream is not None
    threading.Thread(
        target=lambda: [answers.put(line) for line in iter(stream.readline, b"")], daemon=True
    ).start()
    deadline = time.monotonic() + TIMEOUT_S / 2
    while time.monotonic() < deadline:
        try:
            line = answers.get(timeout=0.2)
        except queue.Empty:
            if process.poll() is not None:
                raise StepError("the server ended before it answered") from None
            continue
        try:
            answer = msgspec.json.decode(line, type=dict[str, Any])
        except msgspec.DecodeError:
            raise StepError("the server wrote something that is no answer") from None
        if answer.get("id") == 2:
            return len(answer.get("result", {}).get("tools", []))
    raise StepError("the server did not answer in time")


def _environ(folder: Path) -> dict[str, str]:
    """A home that holds nothing, so that no log and no setting of the user comes in."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    return {
        **{name: os.environ[name] for name in PASSED_ON if name in os.environ},
        "HOME": str(home),
        "USERPROFILE": str(home),
        "SESSION_MEMORY_HOME": str(folder / "memory"),
        "CLAUDE_CONFIG_DIR": str(folder / "claude"),
    }


def _run(command: list[str], environ: dict[str, str], data: bytes = b"") -> int:
    done = subprocess.run(
        command, env=environ, input=data, capture_output=True, timeout=TIMEOUT_S, check=False
    )
    return done.returncode
