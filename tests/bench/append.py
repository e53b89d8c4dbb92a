"""What appending a few lines to a long session costs, and a first sweep of many short ones.

`python -m tests.bench.append [EVENTS] [SESSIONS]` (default 20000 and 10000; 0 leaves one out).
"""

from __future__ import annotations

from pathlib import Path

from tests.bench import corpora
from tests.bench.child import Home, Spent, new_home, run
from tests.bench.usage import arguments

from session_memory.adapters.claude.log_builder import ClaudeLog

EVENTS, SESSIONS, ROUNDS = 20_000, 10_000, 5
_EVENTS_PER_STEP = 9


def work(log: ClaudeLog, number: int) -> None:
    """One step of ordinary work: `_EVENTS_PER_STEP` events."""
    name = f"src/part{number % 90}.py"
    log.prompt(f"Part {number} is slow and test_{number} fails. Please make it faster.")
    log.say(f"I read {name} first. We decided to keep the cache of part {number}.")
    lines = "\n".join(f"def step_{number}_{each}(value): return value" for each in range(12))
    log.read(f"{log.cwd}/{name}", lines)
    log.edit(f"{log.cwd}/{name}", f"step_{number}", f"fast_step_{number}")
    failed = number % 3 == 0
    output = "\n".join(f"tests/test_{each}.py .... [ {each}%]" for each in range(15))
    end = f"FAILED test_{number} - KeyError: {number}\n1 failed" if failed else "40 passed in 2.1s"
    log.run(f"pytest -q tests/test_{number % 90}.py", f"{output}\n{end}", exit_code=int(failed))
    log.say(f"Part {number} is done: it reads {name} once. Next: part {number + 1}.")
    log.wait(30)


def long_log(events: int) -> ClaudeLog:
    """A session of about that many events."""
    log = ClaudeLog(9, cwd="/work/long")
    for number in range(events // _EVENTS_PER_STEP):
        work(log, number)
    return log


def sweep(home: Home, logs: Path) -> Spent:
    """One sweep as a user runs it."""
    return run(["-m", "session_memory", "sweep"], home.environment((str(logs),)))


def appended(events: int) -> None:
    """Sweep a long session, then append four lines to it, some times over."""
    with new_home() as home:
        log = long_log(events)
        logs = home.root / "logs"
        log.write(logs)
        first = sweep(home, logs)
        spent: list[float] = []
        for number in range(ROUNDS):
            log.prompt(f"One more question: what is left of part {number}?")
            log.run("git status --short", f"M src/part{number}.py")
            log.say("Nothing is left.")
            log.write(logs)
            spent.append(sweep(home, logs).cpu)
        idle = min(sweep(home, logs).cpu for _ in range(ROUNDS))
        shown = " ".join(f"{each:.2f}" for each in spent)
        print(
            f"{events} events: first sweep {first.cpu:.2f} CPU s; four lines more {shown};"
            f" nothing new {idle:.2f}; store {_size(home.store) / 1e6:.1f} MB",
            flush=True,
        )


def many_short(sessions: int) -> None:
    """A first sweep of many sessions of a few events."""
    with new_home() as home:
        corpus = corpora.small_files(sessions, home.root)
        first = run(["-m", "session_memory", "sweep"], home.environment(corpus.roots))
        each = first.cpu / sessions * 1000
        print(
            f"{sessions} short sessions: {first.cpu:.2f} CPU s, {each:.2f} ms each;"
            f" {first.wall:.1f} s; store {_size(home.store) / 1e6:.1f} MB",
            flush=True,
        )


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def main() -> None:
    """Run both."""
    given = [int(word) for word in arguments(__doc__)]
    events, sessions = (*given, *(EVENTS, SESSIONS)[len(given) :])[:2]
    for share in (8, 2, 1) if events else ():
        appended(events // share)
    if sessions:
        many_short(sessions)


if __name__ == "__main__":
    main()
