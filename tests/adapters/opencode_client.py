"""Stands for a live OpenCode client: a process of its own that writes one session step by step.

python -m tests.adapters.opencode_client DATA_DIRECTORY < one line for every step

Two SQLite libraries in one process take away each other's file locks, so a client in a thread
beside our reader would damage its own database.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from session_memory.adapters.opencode.log_builder import OpenCodeLog, connect, token_row

REPOSITORY = Path(__file__).resolve().parents[2]
STEPS = 27


def talk(seed: int = 1) -> OpenCodeLog:
    """A session with one of everything."""
    log = OpenCodeLog(seed)
    log.prompt("fix the test")
    log.think("let me see")
    log.say("I run it.")
    log.run("pytest -q", "1 failed", exit_code=1)
    log.edit("/work/shop/cart.py", "a - b", "a + b")
    log.end_step(token_row(100, 20, read=40), cost=0.25)
    log.run("pytest -q", "1 passed")
    log.plan(("fix it", "completed"), ("tell", "pending"))
    log.end_step(token_row(120, 10, read=140), cost=0.25)
    log.say("Done.")
    log.end_step(token_row(50, 10, reasoning=5), cost=0.5, reason="stop")
    log.prompt("go on")
    log.say("I st")
    log.fail("MessageAbortedError", "aborted")
    log.compact("fixed the test", token_row(10, 10))
    return log


def start(home: Path) -> subprocess.Popen[bytes]:
    """A client that writes the next step of `talk` for every line it is given."""
    command = [sys.executable, "-m", "tests.adapters.opencode_client", str(home)]
    return subprocess.Popen(command, cwd=REPOSITORY, stdin=subprocess.PIPE)


def main(home: Path) -> None:
    log, db = talk(), connect(home)
    try:
        for count in range(1, STEPS):
            sys.stdin.buffer.readline()
            log.until(count).store(db)
        log.store(db)
    finally:
        db.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
