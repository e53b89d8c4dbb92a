"""Hooks and the system's clock ask for sweeps; each runs later, and never two at a time."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.hooks import entry
from session_memory.store import open_store
from session_memory.store.lock import exclusive
from session_memory.store.port import SessionQuery
from session_memory.testing.workspace import NOW, Workspace
from session_memory.worker import run as worker_run
from session_memory.worker.run import Worker


class Home:
    """A user with one agent, and the program as hooks and the clock start it."""

    def __init__(self, root: Path) -> None:
        self.space = Workspace(root)
        self.memory = root / "memory"
        self.state = self.memory / "state"
        self.environ = {**self.space.environ(), "CLAUDE_CONFIG_DIR": str(self.space.claude)}

    def write(self, seed: int) -> ClaudeLog:
        log = ClaudeLog(seed)
        log.prompt("fix the parser")
        self.space.write(log)
        return log

    def hook(self, log: ClaudeLog, event: str = "SessionEnd") -> float:
        """Run the hook as the agent does; returns the processor seconds it took."""
        path = log.path(self.space.claude)
        payload = {"hook_event_name": event, "session_id": log.session_id}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-I", "-S", entry.__file__, event],
            input=json.dumps({**payload, "transcript_path": str(path)}),
            env=self.environ,
            text=True,
            capture_output=True,
            check=False,
            timeout=60,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def start(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "session_memory", *words],
            env=self.environ,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def waiting(self) -> int:
        return len(list((self.state / "spool").glob("*.json")))

    def sessions(self) -> set[str]:
        if not (self.memory / "data" / "store.db").exists():
            return set()
        with open_store(str(self.memory / "data"), NOW) as store:
            return {session.external_id for session in store.sessions(SessionQuery())}


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "user")


@pytest.mark.rows("ING-06")
@pytest.mark.parametrize("event", ["Stop", "SessionEnd"])
def test_a_hook_returns_at_once_while_a_sweep_runs_and_is_served_later(
    home: Home, event: str
) -> None:
    log = home.write(1)
    (home.memory / "data").mkdir(parents=True, mode=0o700)
    with exclusive(str(home.memory / "data" / "sweep.lock"), "a sweep"):
        assert home.hook(log, event) < 1.0  # of the processor: a busy machine does not count
        assert (home.waiting(), home.sessions()) == (1, set())
    worker = home.start("worker", "run", "--json")
    out, err = worker.communicate(timeout=120)
    assert worker.returncode == 0, err
    assert json.loads(out)["sweeps"] == 1
    assert (home.waiting(), home.sessions()) == (0, {log.session_id})


@pytest.mark.rows("ING-06")
def test_the_worker_waits_for_a_sweep_that_runs(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = home.write(1)
    home.hook(log)
    space = home.space
    space.store_directory.mkdir(mode=0o700)
    running = exclusive(str(space.store_directory / "sweep.lock"), "a sweep")
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        assert not (space.store_directory / "store.db").exists(), "two sweeps at a time"
        if len(waited) == 3:
            running.__exit__(None, None, None)

    monkeypatch.setattr(worker_run.time, "sleep", wait)
    running.__enter__()
    report = Worker(space.sweep_context(), home.state, "token").run()
    assert (len(waited), report.sweeps, report.imports) == (3, 1, 1)
    assert set(space.sessions()) == {log.session_id}


@pytest.mark.rows("ING-06")
def test_many_workers_and_sweeps_at_once_do_the_work_once(home: Home) -> None:
    logs = [home.write(seed) for seed in range(1, 7)]
    for log in logs:
        home.hook(log)
    started = [home.start("worker", "run", "--json") for _ in range(3)]
    started += [home.start("sweep", "--json") for _ in range(2)]
    told: list[dict[str, Any]] = []
    for process in started:
        out, err = process.communicate(timeout=240)
        assert process.returncode == 0, err
        told.append(json.loads(out))
    assert sum(one.get("imports", 0) for one in told) == len(logs)
    assert home.waiting() == 0
    assert home.sessions() == {log.session_id for log in logs}
    with open_store(str(home.memory / "data"), NOW) as store:
        sessions = store.sessions(SessionQuery())
        assert {session.event_count for session in sessions} == {1}
        assert store.fsck() == []
