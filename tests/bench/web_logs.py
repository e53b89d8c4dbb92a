"""A year of generated work for the page: many projects, errors that recur, cures, edits, costs."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

from session_memory.adapters.claude.log_builder import ClaudeLog, tokens

EVENTS_A_SESSION = 200
LONG_EVENTS = 20_000
LONG_PROJECT = "/work/long"
PROJECTS, MODULES, DAYS = 60, 400, 365
_DAY_MS = 86_400_000
_VERBS = ("speed up", "rename", "test", "document", "remove", "split", "fix", "port")
_NOUNS = ("checkout", "parser", "login", "index", "scheduler", "importer", "report", "cache")
_MODELS = ("claude-sonnet-4-5-20250929", "claude-opus-4-1-20250805")


def write_year(events: int, home: Path) -> int:
    """Write sessions with so many events below a Claude home, and one long one; how many files."""
    chance = random.Random(7)
    now = int(time.time() * 1000)
    count = max(1, events // EVENTS_A_SESSION)
    for number in range(count):
        start = now - round((1 - number / count) * DAYS * _DAY_MS)
        _session(number, start, chance).write(home)
    _long_session(now - _DAY_MS).write(home)
    return count + 1


def _session(number: int, start: int, chance: random.Random) -> ClaudeLog:
    cwd = f"/work/project{number % PROJECTS:02}"
    log = ClaudeLog(number + 1000, cwd=cwd, start=start)
    log.model = _MODELS[number % 7 == 0]
    module = f"module{chance.randrange(MODULES)}"
    log.prompt(f"{chance.choice(_VERBS)} the {chance.choice(_NOUNS)} of {module}")
    log.run("pytest -q", f"E   ModuleNotFoundError: No module named '{module}'", exit_code=1)
    log.run(f"pip install {module}", f"Successfully installed {module}-1.0")
    log.run("pytest -q", "6 passed in 0.19s")
    for step in _steps(chance):
        match chance.randrange(8):
            case 0:
                log.prompt(f"now {step} in {module}", promptSource="typed")
                log.say(f"I will {step}.", tokens(900, 300, read=20_000, write_5m=500))
            case 1 | 2:
                path = f"{cwd}/src/{module}/part{chance.randrange(9)}.py"
                log.edit(path, f"value = {chance.randrange(99)}", f"value = {step!r}")
            case 3:
                log.run(f"make {step.split()[0]}", f"no rule to make target {step!r}", exit_code=2)
            case _:
                log.run(f"grep -rn '{step}' src", f"src/{module}/a.py:{chance.randrange(900)}")
        if len(log.rows) >= EVENTS_A_SESSION:
            break
    log.run("pytest -q", "6 passed in 0.21s")
    log.say(f"Done: {module} works.", tokens(500, 200, read=30_000))
    return log


def _steps(chance: random.Random) -> Iterator[str]:
    while True:
        yield f"{chance.choice(_VERBS)} {chance.choice(_NOUNS)} {chance.randrange(5000)}"


def _long_session(start: int) -> ClaudeLog:
    log = ClaudeLog(9, cwd=LONG_PROJECT, start=start)
    log.prompt("Read every file.")
    for number in range(LONG_EVENTS // 2):
        log.run(f"cat file{number}.txt", f"line {number} of the file")
    return log
