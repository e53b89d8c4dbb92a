"""CPU, memory and size: our sweep compared with agentsview's sync, on the same logs in one run."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.bench.child import Spent
from tests.bench.figures import Figure, Section
from tests.bench.ingest import best
from tests.bench.peers_process import run
from tests.bench.peers_tokens import UNREAD_FILES

MB = 1e6
ROUNDS = 5


class Program(NamedTuple):
    """A program that reads logs into a store of its own."""

    name: str
    command: list[str]
    store: str
    """Where its store is, below the home."""
    sessions: Callable[[str], int]
    """How many sessions it says it read: both must have done the same work."""


class Taken(NamedTuple):
    """What a first run and a second one without changes cost, and what is left on disk."""

    first: Spent
    again: Spent
    stored: int
    sessions: int


def programs(agentsview: Path) -> tuple[Program, Program]:
    """Both, each with everything on that its plain command turns on."""
    ours = [sys.executable, "-m", "session_memory", "sweep", "--json"]
    return (
        Program("session-memory", ours, "session-memory", _swept),
        Program("agentsview", [str(agentsview), "sync"], ".agentsview", _synced),
    )


def _swept(told: str) -> int:
    return json.loads(told)["sessions"]


def _synced(told: str) -> int:
    found = re.search(r"(\d+) sessions synced", told)
    return int(found[1]) if found else 0


def compared(title: str, put: Callable[[Path], int], agentsview: Path) -> Section:
    """One corpus through both, turn and turn about, so that other load meets both alike."""
    taken: dict[str, list[Taken]] = {}
    raw = 0
    for _ in range(ROUNDS):
        for program in programs(agentsview):
            with tempfile.TemporaryDirectory(prefix="session-memory-peers-") as folder:
                raw = put(Path(folder))
                taken.setdefault(program.name, []).append(_take(program, Path(folder)))
    figures = [figure for name, runs in taken.items() for figure in _figures(name, runs, raw)]
    ours, theirs = (_best(runs) for runs in taken.values())
    figures += [
        Figure(f"session-memory / agentsview, {name}", mine / peer, "times", 1.0)
        for name, mine, peer in (
            ("CPU of the first run", ours.first.cpu, theirs.first.cpu),
            ("first run by the clock", ours.first.wall, theirs.first.wall),
            ("peak memory", ours.first.peak_bytes, theirs.first.peak_bytes),
            ("store", ours.stored, theirs.stored),
        )
    ]
    return Section(title, figures, (f"{raw / MB:.0f} MB of logs; best of {ROUNDS} runs each",))


def _best(runs: list[Taken]) -> Taken:
    """The least that each figure came to, with the highest peak of memory."""
    first, again = best([run.first for run in runs]), best([run.again for run in runs])
    first = first._replace(wall=min(run.first.wall for run in runs))
    return Taken(first, again, min(run.stored for run in runs), runs[0].sessions)


def _take(program: Program, home: Path) -> Taken:
    codes = (0, UNREAD_FILES)
    first, again = (run(program.command, home, accepted=codes) for _ in range(2))
    files = (path for path in (home / program.store).rglob("*") if path.is_file())
    stored = sum(path.stat().st_size for path in files)
    return Taken(first, again, stored, program.sessions(first.output))


def _figures(name: str, runs: list[Taken], raw: int) -> list[Figure]:
    first, again, stored, sessions = _best(runs)
    return [
        Figure(f"{name}: sessions read", sessions, ""),
        Figure(f"{name}: first run", first.cpu, "CPU s"),
        Figure(f"{name}: first run, by the clock", first.wall, "s"),
        Figure(f"{name}: first run", raw / MB / first.cpu, "MB per CPU s"),
        Figure(f"{name}: peak memory", first.peak_bytes / MB, "MB"),
        Figure(f"{name}: second run, nothing new", again.cpu, "CPU s"),
        Figure(f"{name}: store / raw", stored / raw, ""),
    ]
