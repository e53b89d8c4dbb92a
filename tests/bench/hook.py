"""What a hook costs the agent that waits for it, beside a bare interpreter in the same run.

Timed is what `init` installs: the line in the agent's settings, run by a shell as agents run it,
the launcher and the bytecode; and beside it the source alone, which a launcher falls back to.

Run as `python -m tests.bench.hook [RUNS]`; `hook(home, runs)` is a section for the suite.
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tests.bench.child import Home, new_home
from tests.bench.figures import Figure, Section, percentile, table
from tests.bench.usage import arguments

from session_memory.core.loop.guards import Condition, Guard
from session_memory.guards.table import FILE, encode_table
from session_memory.install.hook_files import SETTINGS
from session_memory.testing.command import run_command

MUST_MS, GOAL_MS = 30, 15
"""Above the bare interpreter, at p95 (DESIGN, budgets)."""
GUARDS, GUARDS_MS = 200, 3
"""How much slower so many guards may make a hook, at the median: the rest is noise."""
RUNS = 1_000
SESSION, EDITED = "0f9d7c1e-1111-4222-8333-444455556666", "session-that-edited-a-file"
BARE, INSTALLED, SOURCE = "bare python -I -S", "installed", "source alone"


class Case(NamedTuple):
    """One way to run a hook, or the interpreter alone."""

    name: str
    words: list[str]
    stdin: bytes = b""
    table: bytes = b""
    """The table of guards meanwhile; empty: there is none."""


class Wired(NamedTuple):
    """A home in which `init` has wired Claude Code, and a project in it."""

    home: Home
    project: Path

    @property
    def hooks(self) -> Path:
        """Where `init` puts what agents run."""
        return self.home.store / "hooks"

    @property
    def state(self) -> Path:
        """Where the hook writes."""
        return self.home.root / "memory" / "state"

    @property
    def claude(self) -> Path:
        """The agent's own folder."""
        return self.home.root / "home" / ".claude"

    @property
    def environment(self) -> dict[str, str]:
        """Of the agent and whatever it starts."""
        return self.home.environment((str(self.claude),))


class Cost(NamedTuple):
    """What one run cost, in milliseconds."""

    wall: float
    cpu: float


def hook(home: Home, runs: int) -> Section:
    """Cases take turns, so that load of the machine falls on all of them alike."""
    wired = _wired(home)
    cases = [Case(BARE, [sys.executable, "-I", "-S", "-c", "pass"]), *_cases(wired)]
    costs: dict[str, list[Cost]] = {case.name: [] for case in cases}
    for number in range(runs):
        for case in cases:
            costs[case.name].append(_cost(case, wired))
        if number % 20 == 19:  # as a worker would
            for path in (wired.state / "spool").iterdir():
                path.unlink()
    notes = (
        "times grow with the load of the machine, so judge on a quiet one; CPU grows less",
        "without a table of guards the launcher ends a PreToolUse before it starts Python",
    )
    title = f"Hook, process start to exit, {runs} runs each"
    return Section(title, list(_figures(costs)), notes)


def _figures(costs: dict[str, list[Cost]]) -> Iterator[Figure]:
    figures = {name: _measured(values) for name, values in costs.items()}
    for what, value in figures[BARE].items():
        yield Figure(f"{BARE}, {what}", value, "ms")
    for name, values in figures.items():
        for what, value in values.items() if name != BARE else ():
            judged = what == "p95" and name.startswith(INSTALLED)
            must, goal = (MUST_MS, GOAL_MS) if judged else (None, None)
            above = value - figures[BARE][what]
            yield Figure(f"{name}, {what} above bare", above, "ms", must, goal)
    for way in (INSTALLED, SOURCE):
        for event, guarded in ((e, g) for e in ("Stop", "PreToolUse") for g in _GUARDED):
            some, none = (figures[f"{way}: {event}, {name}"] for name in (guarded, _ELSEWHERE))
            for what in ("p50", "CPU p50"):
                must = GUARDS_MS if (way, what) == (INSTALLED, "p50") else None
                title = f"{way}: {event}, {guarded}, {what} above none"
                yield Figure(title, some[what] - none[what], "ms", must)


def _measured(costs: list[Cost]) -> dict[str, float]:
    walls = [cost.wall for cost in costs]
    cpu = percentile([cost.cpu for cost in costs], 0.5)
    return {"p50": percentile(walls, 0.5), "p95": percentile(walls, 0.95), "CPU p50": cpu}


def _wired(home: Home) -> Wired:
    """What a user has after `init`, but for the worker: what it does is no cost of the hook."""
    project = home.root / "home" / "code" / "proj"
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    wired = Wired(home, project)
    wired.claude.mkdir()
    done = run_command(
        "init", "--agent", "claude", "--yes", environ=wired.environment, directory=project
    )
    if done.returncode != 0:
        raise SystemExit(f"init ended with {done.returncode}: {done.stderr}")
    settings = wired.state / SETTINGS
    known = json.loads(settings.read_bytes())
    settings.write_text(json.dumps({**known, "worker": ["/bin/true"]}), encoding="utf-8")
    _write_memory(wired)
    return wired


def _write_memory(wired: Wired) -> None:
    folder = wired.state / "inject"
    folder.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(os.fsencode(os.path.realpath(wired.project))).hexdigest()
    sections = [{"id": f"p{n}", "text": "x" * 300, "trial": {"pattern": f"p{n}"}} for n in range(9)]
    page = {"v": 1, "text": "A line of memory.\n" * 300, "sections": sections, "made_at": 1}
    (folder / f"{name}.json").write_text(json.dumps(page), encoding="utf-8")


_ELSEWHERE = "no guard here"
_GUARDED = {f"{GUARDS} guards": "make build", f"{GUARDS} guards, all about this call": "make check"}
"""With the command that is run: it is what all guards ask for, or none of their business."""


def _cases(wired: Wired) -> Iterator[Case]:
    known = json.loads((wired.claude / "settings.json").read_bytes())
    (line,) = (one["command"] for entry in known["hooks"]["Stop"] for one in entry["hooks"])
    source = [sys.executable, "-I", "-S", str(wired.hooks / "entry.py")]
    for way in (INSTALLED, SOURCE):
        for what, fields, rows in _events(wired):
            event = what.partition(",")[0]
            words = [*source, event, "claude"]
            if way == INSTALLED:
                words = ["/bin/sh", "-c", line.replace(" Stop ", f" {event} ")]
            yield Case(f"{way}: {what}", words, _payload(wired, event, fields), rows)


def _events(wired: Wired) -> Iterator[tuple[str, dict[str, Any], bytes]]:
    """Each event with the fields of its payload and the table of guards."""
    elsewhere, guarded = _table(wired.hooks, 1), _table(wired.project, GUARDS)
    answer = {"last_assistant_message": "words " * 500}
    yield "Stop", answer, b""
    yield "PostToolUse, 0.9 MB", {"tool_response": "words " * 150_000}, b""
    yield "SessionStart, memory is given", {"source": "startup"}, b""
    yield "PreToolUse", _call("make build"), b""
    yield f"Stop, {_ELSEWHERE}", answer, elsewhere
    yield f"PreToolUse, {_ELSEWHERE}", _call("make build"), elsewhere
    for name, command in _GUARDED.items():
        session = EDITED if command == "make check" else SESSION
        yield f"Stop, {name}", {**answer, "session_id": session}, guarded
        yield f"PreToolUse, {name}", _call(command), guarded


def _call(command: str) -> dict[str, object]:
    line = f"cd src && CI=1 {command} 2>&1 | tail -5"
    return {"tool_name": "Bash", "tool_input": {"command": line, "description": "build"}}


def _payload(wired: Wired, event: str, fields: dict[str, Any]) -> bytes:
    base = {
        "session_id": SESSION,
        "transcript_path": str(wired.claude / "projects" / "-code-proj" / f"{SESSION}.jsonl"),
        "cwd": str(wired.project / "src"),
        "permission_mode": "default",
        "hook_event_name": event,
    }
    return json.dumps({**base, **fields}).encode()


def _table(place: Path, count: int) -> bytes:
    """So many guards for a place, none of which speaks."""
    text = "Use `bun`, not `npm`: the lock file is bun's, and npm ignores it. " * 2
    cure = (Condition("run", words=("make", "check")),)
    guards = [Guard(f"{n:012x}", "hint", text, _condition(n), cure) for n in range(count)]
    return encode_table(guards, {os.path.realpath(place): [guard.id for guard in guards]})


def _condition(number: int) -> Condition:
    """One kind after the other."""
    kinds = (
        Condition("run", words=(f"program{number}", "install"), with_=("--force",)),
        Condition("edit", paths=(f"generated/{number}/", f"**/*.gen{number}.ts")),
        Condition("push", branches=(f"release-{number}",)),
        Condition("check"),
    )
    return kinds[number % len(kinds)]


def _cost(case: Case, wired: Wired) -> Cost:
    file, memory = wired.hooks / FILE, wired.state / "guards"
    if case.table:
        file.write_bytes(case.table)
    else:
        file.unlink(missing_ok=True)
    shutil.rmtree(memory, ignore_errors=True)
    memory.mkdir()
    (memory / hashlib.sha256(f"{EDITED}\0".encode()).hexdigest()).write_text("e\n")
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with subprocess.Popen(
        case.words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=wired.environment,
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        process.stdin.write(case.stdin)  # as one piece: `communicate` writes 512 bytes at a time
        process.stdin.close()
        process.stdout.read()
        complaint = process.stderr.read()
        code = process.wait()
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if code != 0 or complaint:
        raise SystemExit(f"{case.name} ended with {code}: {complaint.decode()}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(wall * 1000, cpu * 1000)


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    with new_home() as home:
        print(table([hook(home, int(arguments[0]) if arguments else RUNS)]))
    return 0


if __name__ == "__main__":
    sys.exit(main(arguments(__doc__)))
