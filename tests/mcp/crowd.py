"""Servers and sweeps on one store at the same time: every question must get an answer."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from tests.mcp.clients import Talk, text_of

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.workspace import Workspace

QUESTIONS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("mem_recent", {}),
    ("mem_search", {"query": "totals report"}),
    ("mem_context_pack", {"project_key": "shop"}),
    ("mem_open_work", {"project_key": "shop"}),
    ("mem_completion_check", {"project_key": "shop"}),
    ("mem_session_list", {"project_key": "shop"}),
    ("mem_project_brief", {"project_key": "shop"}),
)
LOCKED = 6


class Seen(msgspec.Struct):
    """What a crowd went through."""

    answers: int = 0
    sweeps: int = 0
    errors: list[str] = []
    most_servers: int = 0
    warned: bool = False


def log(space: Workspace, seed: int, *, lines: int = 6) -> None:
    """A session that says something, written where a sweep finds it."""
    place = space.root / "shop"
    (place / ".git").mkdir(parents=True, exist_ok=True)
    made = ClaudeLog(seed, cwd=str(place))
    made.prompt(f"Fix the totals of report {seed}")
    for number in range(lines):
        made.run(f"pytest -q test_{seed}_{number}", "1 failed", exit_code=1)
    made.say(f"Pending: round totals {seed}\nDecision: money is whole cents {seed}")
    space.write(made)


def crowd(root: Path, goes_on: Callable[[Seen], bool], *, servers: int = 6) -> Seen:
    """So many servers ask while two sweeps at a time capture, as long as `goes_on` says."""
    space = Workspace(root)
    config = str(space.write_config())
    log(space, 1)
    assert space.run("--config", config, "sweep").returncode in (0, 3)
    seen = Seen()
    lock = threading.Lock()
    threads = [threading.Thread(target=_asks, args=(space, config, seen, lock, goes_on))
               for _ in range(servers)]  # fmt: skip
    threads += [threading.Thread(target=_sweeps, args=(space, config, seen, (lock, at), goes_on))
                for at in range(2)]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen


def _asks(
    space: Workspace, config: str, seen: Seen, lock: threading.Lock, goes_on: Callable[[Seen], bool]
) -> None:
    command = [sys.executable, "-m", "session_memory", "--config", config, "mcp"]
    with Talk(command=command, environ=space.environ()) as talk:
        talk.greet()
        talk.ask("tools/list")
        turn = 0
        while goes_on(seen) or turn < len(QUESTIONS):
            name, arguments = QUESTIONS[turn % len(QUESTIONS)]
            turn += 1
            found = talk.call(name, **arguments)
            health = talk.call("mem_health_runtime")["structuredContent"]
            with lock:
                seen.answers += 1
                seen.most_servers = max(seen.most_servers, health["same_db_process_count"])
                seen.warned |= health["spawn_storm_warning"]
                if found["isError"]:
                    seen.errors.append(f"{name}: {text_of(found)}")
        code, output = talk.end()
        if code != 0 or "failed" in output:
            seen.errors.append(output)


def _sweeps(
    space: Workspace,
    config: str,
    seen: Seen,
    mine: tuple[threading.Lock, int],
    goes_on: Callable[[Seen], bool],
) -> None:
    lock, seed = mine
    turn = 0
    while goes_on(seen) or turn < 2:
        turn += 1
        log(space, 10 + 2 * turn + seed)
        done = space.run_process("--config", config, "sweep")
        with lock:
            seen.sweeps += done.returncode in (0, 3)
            if done.returncode not in (
                0,
                3,
                LOCKED,
            ):  # the other sweep holds the lock: as it should
                seen.errors.append(f"sweep ended with {done.returncode}: {done.stderr}")
