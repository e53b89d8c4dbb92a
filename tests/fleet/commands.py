"""The commands of users, in processes of their own that leave none behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WAIT_S = 120


def until(found: Callable[[], object], what: str) -> None:
    """Wait for something that takes as long as the machine is slow."""
    ends = time.monotonic() + WAIT_S
    while not found():
        assert time.monotonic() < ends, f"{what} did not come"
        time.sleep(0.05)


def environment(home: Path) -> dict[str, str]:
    """Of a user whose home this is, and of Dask's own commands."""
    return {
        "HOME": str(home),
        "SESSION_MEMORY_HOME": str(home / "memory"),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    }


def sessions_of(*leaders: int) -> list[int]:
    """Processes that are left of these process groups."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[3]) in leaders and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def start(home: Path, *words: str, **variables: str) -> subprocess.Popen[str]:
    """A command of a user, with these variables in its environment."""
    return subprocess.Popen(
        [sys.executable, "-m", "session_memory", *words],
        env={**environment(home), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def run(home: Path, *words: str, code: int = 0, **variables: str) -> str:
    """The same, until its end: what it says, or its error."""
    process = start(home, *words, **variables)
    out, err = process.communicate(timeout=WAIT_S * 2)
    assert process.returncode == code, err
    assert code or not err  # no library says anything to users, not even at its end
    until(lambda: not sessions_of(process.pid), "the end of all its processes")
    return out if code in (0, 3) else err
