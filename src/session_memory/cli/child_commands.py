"""Commands that the page runs in a process of their own.

What they read and import does not stay with the page.
"""

from __future__ import annotations

import subprocess
import sys

import msgspec

from session_memory.cli.app import App
from session_memory.errors import SessionMemoryError
from session_memory.web.context import Finding

LIMIT_SECONDS = 300


class _Answer(msgspec.Struct, frozen=True):
    """The fields of `doctor --json` that the page shows."""

    checks: list[Finding]


def findings(app: App) -> list[Finding]:
    """What `doctor --quick` finds with the settings of this run; a finding too if it fails."""
    try:
        done = _run(app, "doctor", "--quick", "--json")
        return msgspec.json.decode(done.stdout, type=_Answer).checks
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        return [Finding("doctor", "fail", f"it did not answer: {error}", "session-memory doctor")]


def look_for_rules(app: App) -> None:
    """Detect what recurs and keep it for review, as `rules list` does."""
    try:
        done = _run(app, "rules", "list", "--json")
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SessionMemoryError(f"looking for rules failed: {error}") from None
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip() or f"exit code {done.returncode}"
        raise SessionMemoryError(f"looking for rules failed: {reason}")


def _run(app: App, *command: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command with the settings of this run; its exit code is the caller's to judge."""
    config = ["--config", app.config_path] if app.config_path else []
    flags = [word for key, text in app.flags.items() for word in ("--set", f"{key}={text}")]
    return subprocess.run(
        [sys.executable, "-P", "-m", "session_memory", *config, *flags, *command],
        env=app.environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
