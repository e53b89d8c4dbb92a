"""Flushes in child processes, each killed before the n-th thing it does to the disk; prints faults.

    python -m tests.journal.killed_flush DIRECTORY own|other

A program of its own: it forks, which a test runner with threads must not. An audit hook in the
child sees what is opened, renamed and removed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from itertools import count
from pathlib import Path
from typing import Any

from tests.journal.flush_journal import MINUTE, Bench

from session_memory.journal.excerpt import write_excerpt
from session_memory.journal.flush import flush

WATCHED = ("open", "os.rename", "os.remove", "os.mkdir", "os.chmod")
SAID = "what was said"
ENTRY = "entry of it"


def write(_context: str, _session: str) -> str:
    """The model of this program."""
    return ENTRY


def prepare(root: Path, kind: str) -> tuple[Bench, Path]:
    """A journal with a context to flush: one of ours, or a file of another program."""
    root.mkdir()
    bench = Bench(root / "data")
    ours = kind == "own"
    return bench, write_excerpt(bench.journal, "s1", 7, SAID) if ours else bench.excerpt(SAID)


def is_killed(bench: Bench, context: Path, nth: int) -> bool:
    """Flush in a child that dies before its n-th step; False when it had fewer."""
    pid = os.fork()
    if pid == 0:
        die_at(nth, str(bench.data.parent))
        flush(context, "s1", bench.flush_context(write))
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    if status:
        raise SystemExit("the flush failed by itself")
    return False


def die_at(nth: int, below: str) -> None:
    """From now on, die before the n-th thing done to files below a directory."""
    left = nth

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event in WATCHED and str(arguments[0]).startswith(below):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def faults(bench: Bench, context: Path) -> list[str]:
    """What a kill lost, tore or doubled; the flush is done again where its context is left."""
    found: list[str] = []
    saved = [entry.content for entry in bench.entries()]
    if saved != [ENTRY] and not (context.exists() and context.read_text() == SAID):
        found.append("lost")
    for path in bench.journal.work.glob("*.json"):
        try:
            json.loads(path.read_bytes())
        except ValueError:
            found.append(f"torn: {path.name}")
    if context.exists():
        bench.now += 2 * MINUTE  # later than the minute in which repeats are dropped
        flush(context, "s1", bench.flush_context(write))
        found += [f"left behind: {path.name}" for path in bench.data.rglob("*.new")]
    if [entry.content for entry in bench.entries()] != [ENTRY] or context.exists():
        found.append(f"not one entry in the end: {bench.today()}")
    if bench.today().count("# Daily Log:") != 1:
        found.append("not one header")
    return found


def main(root: Path, kind: str) -> dict[str, Any]:
    """Kill at the first step, the second, and so on, until a flush lives."""
    found: list[str] = []
    for nth in count(1):
        bench, context = prepare(root / str(nth), kind)
        killed = is_killed(bench, context, nth)
        found += [f"killed at step {nth}: {text}" for text in faults(bench, context)]
        if not killed:
            return {"kills": nth - 1, "faults": found}
    raise AssertionError("unreachable")


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), sys.argv[2])))
