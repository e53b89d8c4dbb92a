"""Runs a peer as a group of processes of its own: bounded in time, measured, and ended whole."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.child import _WATCH as WATCH
from tests.bench.child import RSS_UNIT, Spent

RUN_SECONDS = 600
START_SECONDS = 60
_ADDRESS = re.compile(r"listening at (http://127\.0\.0\.1:\d+)")


def environment(home: Path) -> dict[str, str]:
    """Variables under which every program sees this home and no other, and calls nobody."""
    kept = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        "HOME": str(home),
        "USERPROFILE": str(home),
        "TZ": "UTC",
        "NO_COLOR": "1",
        "DO_NOT_TRACK": "1",
        "AGENTSVIEW_TELEMETRY_ENABLED": "false",
        "AGENTSVIEW_DISABLE_UPDATE_CHECK": "1",
        "AGENTSVIEW_NO_DAEMON": "1",
        "SESSION_MEMORY_HOME": str(home / "session-memory"),
        # Logs of last year would be evicted at the end of the sweep that is being measured.
        "SESSION_MEMORY_RETENTION_RAW_MAX_AGE_DAYS": "unlimited",
    }


def run(
    command: list[str], home: Path, *, seconds: int = RUN_SECONDS, accepted: tuple[int, ...] = (0,)
) -> Spent:
    """Run a command to its end and tell what it and its children cost."""
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", WATCH, *command],
        env=environment(home),
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    ) as process:
        try:
            told, complaint = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise OSError(f"{command[0]} took more than {seconds} s and was ended") from None
        finally:
            _end(process.pid)
    output, _, measured = told.rstrip("\n").rpartition("\n")
    code, wall, cpu, peak = json.loads(measured)
    if code not in accepted:
        raise OSError(f"{command[0]} ended with {code}: {complaint[-800:]}")
    return Spent(wall, cpu, peak * RSS_UNIT, output)


@contextmanager
def serving(command: list[str], home: Path) -> Generator[str]:
    """A server while it is needed: the address on loopback that it says it listens at."""
    with subprocess.Popen(
        command,
        env=environment(home),
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    ) as process:
        late = threading.Timer(START_SECONDS, _end, (process.pid,))
        late.start()
        try:
            matches = map(_ADDRESS.search, process.stdout or ())
            address = next((match[1] for match in matches if match), None)
            late.cancel()
            if address is None:
                raise OSError(f"{command[0]} did not say where it listens")
            yield address
        finally:
            late.cancel()
            _end(process.pid)


def _end(group: int) -> None:
    """End what is left of the group that this run started."""
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return
