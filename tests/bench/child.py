"""Runs a command as a process of its own and tells what it cost. POSIX only: it needs wait4."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

REPOSITORY = Path(__file__).resolve().parents[2]
RSS_UNIT = 1 if sys.platform == "darwin" else 1024
"""ru_maxrss counts bytes on macOS and KiB elsewhere."""


class Spent(NamedTuple):
    """What a process cost, and what it said."""

    wall: float
    cpu: float
    peak_bytes: int
    output: str


class Home(NamedTuple):
    """A home directory and a store that nobody else knows."""

    root: Path

    @property
    def store(self) -> Path:
        """Where the commands below keep their store."""
        return self.root / "memory" / "data"

    def environment(self, logs: tuple[str, ...] = ()) -> dict[str, str]:
        """Variables under which a command sees these logs, this home, and nothing else."""
        kept = ("PATH", "LANG", "LC_ALL", "TMPDIR", "SYSTEMROOT")
        return {
            **{name: os.environ[name] for name in kept if name in os.environ},
            "HOME": str(self.root / "home"),
            "USERPROFILE": str(self.root / "home"),
            "SESSION_MEMORY_HOME": str(self.root / "memory"),
            "CLAUDE_CONFIG_DIR": ",".join(logs) or str(self.root / "home" / "none"),
            # Logs of last year would be evicted at the end of the sweep that is being measured.
            "SESSION_MEMORY_RETENTION_RAW_MAX_AGE_DAYS": "unlimited",
        }


@contextmanager
def new_home() -> Iterator[Home]:
    """A fresh home, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="session-memory-bench-") as folder:
        home = Home(Path(folder))
        (home.root / "home").mkdir()
        yield home


_WATCH = """
import json, os, subprocess, sys, time
started = time.perf_counter()
process = subprocess.Popen(sys.argv[1:])
_, status, usage = os.wait4(process.pid, 0)
process.returncode = os.waitstatus_to_exitcode(status)
spent = [time.perf_counter() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss]
print("\\n" + json.dumps([process.returncode, *spent]))
"""
"""Linux counts into ru_maxrss what the parent held when it forked, so a small process forks."""


def run(arguments: list[str], environment: dict[str, str]) -> Spent:
    """Run the interpreter of this process with `arguments` and wait for it."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _WATCH, sys.executable, *arguments],
        env=environment,
        cwd=REPOSITORY,
        capture_output=True,
        check=True,
    )
    output, _, measured = done.stdout.decode("utf-8", "replace").rstrip("\n").rpartition("\n")
    code, wall, cpu, peak = json.loads(measured)
    if code != 0:
        complaint = done.stderr.decode("utf-8", "replace")
        raise SystemExit(f"{' '.join(arguments)} ended with {code}:\n{complaint}")
    return Spent(wall, cpu, peak * RSS_UNIT, output)


def run_json(arguments: list[str], environment: dict[str, str]) -> Any:
    """Run a module that prints one JSON value."""
    return json.loads(run(arguments, environment).output)
