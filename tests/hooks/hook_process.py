"""Runs the hook as an agent does: the file itself, isolated, with a payload on stdin."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from session_memory.hooks import entry

ENTRY = Path(entry.__file__)
KEPT = ("PATH", "SYSTEMROOT", "LANG", "TMPDIR", "HOME", "USERPROFILE", "SESSION_MEMORY_HOME")
Payload = Mapping[str, object] | bytes


class Ran(NamedTuple):
    """How a hook ended and what it said."""

    code: int
    out: bytes
    err: bytes


def environment(**more: str) -> dict[str, str]:
    """The test's own home and nothing of the shell the tests run in."""
    return {**{name: os.environ[name] for name in KEPT if name in os.environ}, **more}


def command(*arguments: str) -> list[str]:
    """The command line an installer would write."""
    return [sys.executable, "-I", "-S", str(ENTRY), *arguments]


def encoded(payload: Payload) -> bytes:
    """A payload as it goes through the pipe."""
    return payload if isinstance(payload, bytes) else json.dumps(payload).encode()


def run_hook(*arguments: str, payload: Payload = b"", **variables: str) -> Ran:
    """Run the hook to its end."""
    done = subprocess.run(
        command(*arguments),
        input=encoded(payload),
        env=environment(**variables),
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def state() -> Path:
    """The state directory of the running test."""
    return Path(os.environ["SESSION_MEMORY_HOME"]) / "state"


def spooled() -> list[dict[str, Any]]:
    """The records in the spool, oldest first."""
    return [json.loads(path.read_bytes()) for path in sorted(state().glob("spool/*.json"))]


def noted(*arguments: str, payload: Payload, **variables: str) -> dict[str, Any] | None:
    """What one run adds to the spool; checks that the agent notices nothing."""
    before = {record["id"] for record in spooled()}
    ran = run_hook(*arguments, payload=payload, **variables)
    assert ran == Ran(0, b"", b"")
    fresh = [record for record in spooled() if record["id"] not in before]
    assert len(fresh) <= 1
    return without_instance(fresh[0]) if fresh else None


def without_instance(record: dict[str, Any]) -> dict[str, Any]:
    """The record without what differs from run to run."""
    return {key: value for key, value in record.items() if key not in ("v", "id", "at", "ppid")}


def log() -> str:
    """The hook's own error log."""
    path = state() / "hook-errors.log"
    return path.read_text(encoding="utf-8") if path.exists() else ""
