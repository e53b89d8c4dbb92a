"""Many processes on one store at once: sweeps, readers, forgetters; prints what went wrong.

python -m tests.invariants.crowd DIRECTORY PROCESSES OPERATIONS SEED
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.invariants.broken import broken
from tests.invariants.sessions import claude, write_flavors

from session_memory.errors import NotFound, SessionMemoryError, StoreLocked
from session_memory.store.lock import exclusive
from session_memory.store.port import SessionQuery
from session_memory.testing.workspace import Workspace

WAIT_LIMIT = 10.0
"""Seconds: what a connection waits for another before it gives up."""

Operation = Callable[[Workspace, random.Random], None]


def sweep(space: Workspace, chance: random.Random) -> None:
    """A log grows by a line or two, and somebody sweeps; only one at a time may."""
    path = chance.choice(space.files())
    with path.open("ab") as file:
        file.write(json.dumps({"type": "grown", "n": chance.random()}).encode() + b"\n")
    space.sweep()


def read(space: Workspace, chance: random.Random) -> None:
    with space.store() as store:
        sessions = store.sessions(SessionQuery())
        if sessions:
            one = chance.choice(sessions)
            for event in store.events(one.id, texts=True):
                assert event.text is not None


def search(space: Workspace, chance: random.Random) -> None:
    with space.store() as store:
        store.search(chance.choice(("task", "step done", "façade", "nothing")), 10)
        store.info()


def forget(space: Workspace, chance: random.Random) -> None:
    victim = claude(chance.randrange(800, 812))
    if victim.session_id in space.sessions():
        space.forget(sessions=(victim.session_id,))


def look(space: Workspace, _chance: random.Random) -> None:
    """A check of everything, alone as the command is."""
    lock = str(space.store_directory / "sweep.lock")
    with exclusive(lock, "a sweep"), space.store() as store:
        found = [f for f in store.fsck() if f.severity == "error"]
    assert found == [], str(found)


OPERATIONS: tuple[Operation, ...] = (sweep, read, read, read, search, search, search, look, forget)
WEIGHTS = (6, 10, 10, 10, 15, 15, 15, 1, 1)


def work(space: Workspace, operations: int, seed: str) -> dict[str, Any]:
    """One process: so many operations; being locked out of a sweep is the only excuse."""
    chance = random.Random(seed)
    done: Counter[str] = Counter()
    waits: list[float] = []
    wrong: list[str] = []
    for _ in range(operations):
        (operation,) = chance.choices(OPERATIONS, WEIGHTS)
        started = time.perf_counter()
        try:
            operation(space, chance)
            done[operation.__name__] += 1
        except StoreLocked as error:
            done["locked out"] += 1
            if "already running" not in error.message:
                wrong.append(f"{operation.__name__}: {error.message}")
        except NotFound:
            done["forgotten meanwhile"] += 1
        except (SessionMemoryError, AssertionError, OSError) as error:
            wrong.append(f"{operation.__name__}: {type(error).__name__}: {error}")
        waits.append(time.perf_counter() - started)
    return {"done": done, "wrong": wrong, "waits": waits}


def main(root: Path, processes: int, operations: int, seed: int) -> dict[str, Any]:
    space = Workspace(root)
    write_flavors(space, count=2)
    for victim in range(800, 812):
        space.write(claude(victim))
    space.sweep()
    children: dict[int, Path] = {}
    for number in range(processes):
        answer = root / f"answer-{number}.json"
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                answer.write_text(json.dumps(work(space, operations, f"{seed} {number}")))
                code = 0
            finally:
                os._exit(code)
        children[pid] = answer
    answers: list[dict[str, Any]] = []
    problems: list[str] = []
    for pid, answer in children.items():
        _, status = os.waitpid(pid, 0)
        if status:
            problems.append(f"a process ended with {status}")
        else:
            answers.append(json.loads(answer.read_text()))
    space.sweep()
    # Sessions were forgotten, so a fresh store is no measure; everything else is.
    problems += [text for text in broken(space) if not text.startswith("I4")]
    problems += [text for answer in answers for text in answer["wrong"]]
    waits = sorted(wait for answer in answers for wait in answer["waits"])
    done: Counter[str] = Counter()
    for answer in answers:
        done.update(answer["done"])
    return {
        "processes": processes,
        "operations": len(waits),
        **{name.replace(" ", "_"): count for name, count in sorted(done.items())},
        "p99_seconds": round(waits[len(waits) * 99 // 100], 2) if waits else None,
        "problems": problems,
    }


if __name__ == "__main__":
    place, *numbers = sys.argv[1:]
    print(json.dumps(main(Path(place), *(int(number) for number in numbers))))
