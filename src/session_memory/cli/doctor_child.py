"""The doctor in a process of its own: what it reads and imports does not stay with the page."""

from __future__ import annotations

import subprocess
import sys

import msgspec

from session_memory.cli.app import App
from session_memory.web.context import Finding

LIMIT_SECONDS = 300


class _Answer(msgspec.Struct, frozen=True):
    """What of `doctor --json` the page shows."""

    checks: list[Finding]


def findings(app: App) -> list[Finding]:
    """What `doctor --quick` finds with the settings of this run; a finding too if it fails."""
    config = ["--config", app.config_path] if app.config_path else []
    flags = [word for key, text in app.flags.items() for word in ("--set", f"{key}={text}")]
    program = [sys.executable, "-P", "-m", "session_memory", *config, *flags]
    try:
        done = subprocess.run(
            [*program, "doctor", "--quick", "--json"],
            env=app.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT_SECONDS,
            check=False,  # its exit code says how bad the findings are
        )
        return msgspec.json.decode(done.stdout, type=_Answer).checks
    except (OSError, subprocess.TimeoutExpired, ValueError) as error:
        return [Finding("doctor", "fail", f"it did not answer: {error}", "session-memory doctor")]
