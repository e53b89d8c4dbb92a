"""What a hook costs the agent that waits for it, beside a bare interpreter in the same run.

Run as `python -m tests.bench.hook [RUNS]`; `hook(home, runs)` is a section for the suite.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.bench.child import Home, new_home
from tests.bench.figures import Figure, Section, percentile, table
from tests.bench.usage import arguments

from session_memory.core.loop.guards import Condition, Guard
from session_memory.guards.table import FILE, encode_table
from session_memory.hooks import entry

MUST_MS, GOAL_MS = 30, 15
"""Above the bare interpreter, at p95 (DESIGN, budgets)."""
GUARDS, GUARDS_MS = 200, 3
"""How much slower so many guards may make a tool's hook, at the median: the rest is noise."""
RUNS = 1_000


class Case(NamedTuple):
    """One way to run the interpreter."""

    name: str
    arguments: list[str]
    stdin: bytes = b""


def hook(home: Home, runs: int) -> Section:
    """Cases take turns, so that load of the machine falls on all of them alike."""
    cases = _cases(home)
    spool = home.root / "memory" / "state" / "spool"
    walls: dict[str, list[float]] = {case.name: [] for case in cases}
    for number in range(runs):
        for case in cases:
            walls[case.name].append(_wall_ms(case, home))
        if number % 20 == 19:  # as a worker would
            for path in spool.iterdir():
                path.unlink()
    bare = walls[cases[0].name]
    figures: list[Figure] = []
    for case in cases:
        for share in (0.5, 0.95):
            figure = percentile(walls[case.name], share)
            figures.append(Figure(f"{case.name}, p{share * 100:.0f}", figure, "ms"))
    for case in (case for case in cases if case.stdin):
        for share, budget in ((0.5, ()), (0.95, (MUST_MS, GOAL_MS))):
            above = percentile(walls[case.name], share) - percentile(bare, share)
            what = f"{case.name}, p{share * 100:.0f} above bare"
            figures.append(Figure(what, above, "ms", *budget))
    with_guards, without = (walls[f"PreToolUse, {n} guards"] for n in (GUARDS, 0))
    slower = percentile(with_guards, 0.5) - percentile(without, 0.5)
    figures.append(Figure(f"{GUARDS} guards above none, p50", slower, "ms", GUARDS_MS))
    note = (
        "times grow with the load of the machine, so judge on a quiet one; the ratio to bare stays"
    )
    return Section(f"Hook, process start to exit, {runs} runs each", figures, (note,))


def _cases(home: Home) -> list[Case]:
    project = home.root / "home" / "code" / "proj"
    (project / ".git").mkdir(parents=True)
    (project / "src").mkdir()
    _prepare(home.root / "memory" / "state", project)
    base = {
        "session_id": "0f9d7c1e-1111-4222-8333-444455556666",
        "transcript_path": f"{home.root}/home/.claude/projects/-code-proj/0f9d7c1e.jsonl",
        "cwd": str(project / "src"),
        "permission_mode": "default",
    }
    stop = {**base, "hook_event_name": "Stop", "last_assistant_message": "words " * 500}
    tool = {**base, "hook_event_name": "PostToolUse", "tool_response": "words " * 150_000}
    begin = {**base, "hook_event_name": "SessionStart", "source": "startup"}
    file = str(Path(entry.__file__))
    command = {"command": "cd src && CI=1 make build 2>&1 | tail -5", "description": "build"}
    shell = {**base, "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": command}
    call = json.dumps(shell).encode()
    return [
        Case("bare python -I -S", ["-c", "pass"]),
        Case("with `import json`", ["-c", "import json"]),
        Case("Stop", [file, "Stop"], json.dumps(stop).encode()),
        Case("PostToolUse, 0.9 MB", [file, "PostToolUse"], json.dumps(tool).encode()),
        Case("SessionStart with memory", [file, "SessionStart"], json.dumps(begin).encode()),
        *(
            Case(f"PreToolUse, {n} guards", [_guarded(home, project, n), "PreToolUse"], call)
            for n in (0, GUARDS)
        ),
    ]


def _condition(number: int) -> Condition:
    """One kind after the other."""
    kinds = (
        Condition("run", words=(f"program{number}", "install"), with_=("--force",)),
        Condition("edit", paths=(f"generated/{number}/", f"**/*.gen{number}.ts")),
        Condition("push", branches=(f"release-{number}",)),
        Condition("check"),
    )
    return kinds[number % len(kinds)]


def _guarded(home: Home, project: Path, count: int) -> str:
    """A copy of the hook with so many guards beside it, none of which speaks."""
    folder = home.root / f"guards-{count}"
    folder.mkdir()
    text = "Use `bun`, not `npm`: the lock file is bun's, and npm ignores it. " * 2
    cure = (Condition("run", words=("make", "check")),)
    guards = [Guard(f"{n:012x}", "hint", text, _condition(n), cure) for n in range(count)]
    places = {os.path.realpath(project): [guard.id for guard in guards]}
    if count:
        (folder / FILE).write_bytes(encode_table(guards, places))
    return str(shutil.copy(entry.__file__, folder / "entry.py"))


def _prepare(state: Path, project: Path) -> None:
    """Memory for the project; settings without a worker, as its start is no cost of the hook."""
    (state / "inject").mkdir(parents=True)
    name = hashlib.sha256(os.fsencode(os.path.realpath(project))).hexdigest()
    sections = [{"id": f"p{n}", "text": "x" * 300, "trial": {"pattern": f"p{n}"}} for n in range(9)]
    page = {"v": 1, "text": "A line of memory.\n" * 300, "sections": sections, "made_at": 1}
    (state / "inject" / f"{name}.json").write_text(json.dumps(page), encoding="utf-8")
    (state / "hook.json").write_text(json.dumps({"inject": True}), encoding="utf-8")


def _wall_ms(case: Case, home: Home) -> float:
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-I", "-S", *case.arguments],
        input=case.stdin,
        env=home.environment(),
        capture_output=True,
        check=False,
    )
    wall = (time.perf_counter() - started) * 1000
    if done.returncode != 0 or done.stderr:
        raise SystemExit(f"{case.name} ended with {done.returncode}: {done.stderr.decode()}")
    return wall


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    with new_home() as home:
        print(table([hook(home, int(arguments[0]) if arguments else RUNS)]))
    return 0


if __name__ == "__main__":
    sys.exit(main(arguments(__doc__)))
