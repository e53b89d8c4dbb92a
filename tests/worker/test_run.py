"""The worker takes in what hooks noted: each record once, nothing lost, whatever happens to it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from session_memory.adapters.claude import logs as claude
from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.common import SourceFile
from session_memory.core.forget import ForgottenSessions
from session_memory.core.spool import REPEAT_WINDOW_MS, TURN_WINDOW_MS
from session_memory.errors import Refused
from session_memory.forget.hook_files import forget_hook_files
from session_memory.hooks import entry
from session_memory.ingest.context import SweepContext
from session_memory.ingest.last_sweep import read_last_sweep
from session_memory.store.lock import exclusive
from session_memory.testing.workspace import Workspace
from session_memory.worker.run import PATIENCE_MS, Handler, Worker, WorkerReport


class Bench:
    """A workspace with a spool, a clock that is set by hand, and a worker on demand."""

    def __init__(self, root: Path) -> None:
        self.space = Workspace(root)
        self.state = root / "memory" / "state"
        self.spool = self.state / "spool"
        self.spool.mkdir(parents=True)
        self.number = 0

    @property
    def now(self) -> int:
        return self.space.now

    def later(self, milliseconds: int) -> None:
        self.space.now += milliseconds

    def note(self, log: ClaudeLog, event: str = "session_end", **fields: object) -> str:
        """A record as a hook would leave it."""
        self.number += 1
        name = f"{self.now * 1_000_000 + self.number:020d}-1-abcd"
        record = {
            "v": 1,
            "id": name,
            "at": self.now,
            "flavor": "claude",
            "event": event,
            "session": log.session_id,
            "transcript": str(log.path(self.space.claude)),
            **fields,
        }
        (self.spool / f"{name}.json").write_text(json.dumps(record), encoding="utf-8")
        return name

    def around(self) -> SweepContext:
        return self.space.sweep_context()

    def work(self, handlers: dict[str, Handler] | None = None) -> WorkerReport:
        return Worker(self.around(), self.state, "token", handlers).run()

    def waiting(self) -> int:
        return len(list(self.spool.glob("*.json")))

    def log_lines(self) -> list[dict[str, object]]:
        text = (self.state / "logs" / "worker.log").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def spoken(seed: int, *prompts: str) -> ClaudeLog:
    log = ClaudeLog(seed)
    for prompt in prompts or ("fix the parser",):
        log.prompt(prompt)
    return log


@pytest.mark.rows("ING-06")
def test_what_a_hook_noted_is_swept_later_by_the_worker(bench: Bench) -> None:
    log = spoken(1)
    bench.space.write(log)
    bench.note(log)
    assert not bench.space.store_directory.exists(), "a hook captures nothing by itself"
    report = bench.work()
    assert (report.imports, report.sweeps, bench.waiting()) == (1, 1, 0)
    assert list(bench.space.sessions()) == [log.session_id]


def test_the_real_hook_and_the_real_worker(bench: Bench) -> None:
    log = spoken(1)
    path = bench.space.write(log)[0]
    payload = {"hook_event_name": "SessionEnd", "session_id": log.session_id, "reason": "other"}
    environ = {**bench.space.environ(), "CLAUDE_CONFIG_DIR": str(bench.space.claude)}
    hook = subprocess.run(
        [sys.executable, "-I", "-S", entry.__file__, "SessionEnd"],
        input=json.dumps({**payload, "transcript_path": str(path)}),
        env=environ,
        text=True,
        capture_output=True,
        check=True,
    )
    assert (hook.stdout, hook.stderr) == ("", "")
    assert bench.waiting() == 1
    done = bench.space.run_process(
        "--config", str(bench.space.write_config()), "worker", "run", "--json"
    )
    assert json.loads(done.stdout)["imports"] == 0, "another store has another state directory"
    done = subprocess.run(
        [sys.executable, "-m", "session_memory", "worker", "run", "--json"],
        env=environ,
        text=True,
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout)["imports"] == 1
    assert bench.waiting() == 0


@pytest.mark.rows("HOK-06")
def test_a_transcript_that_is_not_there_yet_is_looked_for_again(bench: Bench) -> None:
    log = spoken(1)
    bench.note(log)
    assert bench.work().imports == 0
    assert bench.waiting() == 1
    bench.space.write(log)
    assert bench.work().imports == 1
    assert list(bench.space.sessions()) == [log.session_id]


@pytest.mark.rows("HOK-06")
def test_a_transcript_that_never_comes_is_skipped_and_said_so(bench: Bench) -> None:
    log = spoken(1)
    bench.note(log)
    bench.work()
    bench.later(PATIENCE_MS)
    report = bench.work()
    assert (report.skipped, bench.waiting()) == (1, 0)
    assert [line["session"] for line in bench.log_lines() if line["event"] == "SKIP"] == [
        log.session_id
    ]


@pytest.mark.rows("HOK-09")
def test_two_stops_in_a_minute_are_one_import_and_nothing_is_lost(bench: Bench) -> None:
    log = spoken(1, "first")
    bench.space.write(log)
    bench.note(log, "stop", turn="t1")
    assert bench.work().imports == 1
    bench.later(60_000)
    log.prompt("second")
    bench.space.write(log)
    bench.note(log, "stop", turn="t2")
    held = bench.work()
    assert (held.imports, held.waiting, bench.waiting()) == (0, 1, 1)
    bench.later(TURN_WINDOW_MS)
    assert bench.work().imports == 1
    assert [event.text for event in bench.space.events(log.session_id)] == ["first", "second"]


def test_the_same_turn_again_waits_for_its_window(bench: Bench) -> None:
    log = spoken(1)
    bench.space.write(log)
    bench.note(log, "stop", turn="t1")
    bench.work()
    bench.later(TURN_WINDOW_MS)
    bench.note(log, "agent_turn_complete", turn="t1")
    assert bench.work().imports == 0
    bench.later(REPEAT_WINDOW_MS)
    assert bench.work().imports == 1


@pytest.mark.rows("IDN-09")
def test_a_turn_is_noted_once_however_often_it_is_reported(bench: Bench) -> None:
    log = spoken(1)
    bench.space.write(log)
    bench.note(log, "stop", turn="t1")
    first = bench.work()
    observed = observations(bench)
    bench.later(REPEAT_WINDOW_MS * 2)
    bench.note(log, "stop", turn="t1")
    second = bench.work()
    assert (first.new_turns, second.new_turns) == (1, 0)
    assert observations(bench) == observed != []


def observations(bench: Bench) -> list[object]:
    return [entry["observations"] for entry in bench.space.dump()]


@pytest.mark.rows("IDN-10")
def test_blank_values_never_replace_known_ones(bench: Bench) -> None:
    log = spoken(1)
    bench.space.write(log)
    bench.note(log, "session_start", model="opus")
    bench.work()
    bench.later(1000)
    bench.note(log, "session_end", model=None, source="resume")
    bench.work()
    with bench.space.store() as store:
        assert store.live.notes("claude", log.session_id)["model"] == "opus"
        assert store.live.notes("claude", log.session_id)["source"] == "resume"
    known = bench.space.session(log.session_id).metadata
    assert (known["hook_model"], known["hook_source"]) == ("opus", "resume")
    assert known["producer_version_first_seen"] == known["producer_version_last_seen"]


@pytest.mark.rows("IDN-10")
def test_the_first_and_the_last_version_are_both_known(bench: Bench) -> None:
    log = spoken(1)
    log.prompt("later", version="9.9.9")
    bench.space.write(log)
    bench.space.sweep()
    known = bench.space.session(log.session_id).metadata
    assert known["producer_version_last_seen"] == "9.9.9"
    assert known["producer_version_first_seen"] != "9.9.9"


def test_a_transcript_outside_the_known_homes_is_imported(bench: Bench, tmp_path: Path) -> None:
    log = spoken(1)
    path = log.write(tmp_path / "elsewhere")
    bench.note(log, transcript=str(path))
    assert bench.work().imports == 1
    assert list(bench.space.sessions()) == [log.session_id]


def test_only_one_worker_works(bench: Bench) -> None:
    log = spoken(1)
    bench.space.write(log)
    bench.note(log)
    with exclusive(str(bench.state / "worker.lock"), "a worker"):
        report = bench.work()
    assert report.already_running and bench.waiting() == 1


def test_what_was_given_to_a_session_is_told(bench: Bench) -> None:
    log = spoken(1)
    bench.space.write(log)
    bench.note(log, "session_start", given=["memory", "p-1"], held=["p-2"])
    bench.note(log)
    bench.work()
    with bench.space.store() as store:
        (given,) = store.live.injections("claude", log.session_id)
    assert (given.given, given.held) == (("memory", "p-1"), ("p-2",))


KILLED = """
import os, sys, threading
from pathlib import Path
from session_memory.testing.workspace import Workspace
from session_memory.worker.run import Worker
space = Workspace(Path(sys.argv[1]))
threading.Timer(float(sys.argv[3]), lambda: os.kill(os.getpid(), 9)).start()
Worker(space.sweep_context(), Path(sys.argv[2]), "token").run()
os._exit(0)
"""


def test_killed_at_any_point_no_record_is_lost_or_done_twice(tmp_path: Path) -> None:
    calm, rough = Bench(tmp_path / "calm"), Bench(tmp_path / "rough")
    for bench in (calm, rough):
        for seed in range(1, 7):
            log = spoken(seed, "one", "two")
            bench.space.write(log)
            bench.note(log, "stop", turn=f"t{seed}")
    calm.work()
    kills = 0
    for step in range(12):
        command = [sys.executable, "-c", KILLED, rough.space.root, rough.state, str(0.01 * step)]
        code = subprocess.run(command, env=rough.space.environ(), check=False).returncode
        kills += code == -signal.SIGKILL
    assert kills > 0
    rough.work()
    assert rough.waiting() == 0
    assert msgspec.json.encode(rough.space.dump()) == msgspec.json.encode(calm.space.dump())
    assert rough.space.findings() == []


def test_forgetting_a_session_takes_its_records_along(bench: Bench) -> None:
    log, other = spoken(1), spoken(2)
    bench.space.write(log, other)
    bench.note(log)
    bench.work()
    bench.note(log, "stop", turn="t1")
    bench.note(other, "stop", turn="t2")
    gone = ForgottenSessions(frozenset({("claude", log.session_id)}))
    assert forget_hook_files(bench.state, gone, bench.now) == 1
    assert bench.waiting() == 1
    left = [path.read_text(encoding="utf-8") for path in bench.state.rglob("*") if path.is_file()]
    assert not any(log.session_id in text for text in left)


def test_the_next_start_takes_in_a_session_that_never_said_it_ended(bench: Bench) -> None:
    killed, fresh = spoken(1, "work that was cut off"), spoken(2)
    bench.space.write(killed)
    bench.note(fresh, "session_start")
    report = bench.work()
    assert (report.sweeps, bench.waiting()) == (1, 0)
    assert list(bench.space.sessions()) == [killed.session_id]


# --- what breaks, breaks alone ---


@pytest.mark.rows("ING-13")
@pytest.mark.parametrize("where", ["/", "{root}/", "{root}/elsewhere/"])
def test_nothing_around_a_named_transcript_is_searched(
    bench: Bench, tmp_path: Path, where: str
) -> None:
    decoy = spoken(8, "not asked for")
    decoy.write(tmp_path / "elsewhere")
    looked: list[str] = []
    real = claude.ADAPTER.discover

    def discover(root: str) -> Iterator[SourceFile]:
        looked.append(root)
        return real(root)

    adapter = msgspec.structs.replace(claude.ADAPTER, discover=discover)
    bench.space.adapters = {"claude": adapter}
    bench.note(spoken(1), transcript=where.format(root=tmp_path) + "nope.jsonl")
    bench.later(PATIENCE_MS)
    assert bench.work().skipped == 1
    assert looked == [str(bench.space.claude)]
    assert bench.space.sessions() == {}


@pytest.mark.rows("ING-11")
def test_what_a_sweep_of_the_worker_could_not_read_is_kept_for_status(bench: Bench) -> None:
    log = spoken(1, "one")
    (path,) = bench.space.write(log)
    (path.parent / "gone.jsonl").symlink_to("nowhere")
    bench.note(log)
    bench.work()
    last = read_last_sweep(bench.state / "last_sweep.json")
    assert last is not None
    assert last.finished_at == bench.now
    assert [one["path"] for one in last.report["failed"]] == [str(path.parent / "gone.jsonl")]
    (bench.space.store_directory / "pauses.json").write_text("{")
    bench.later(REPEAT_WINDOW_MS)
    log.prompt("two")
    bench.space.write(log)
    bench.note(log)
    with pytest.raises(Refused):
        bench.work()
    last = read_last_sweep(bench.state / "last_sweep.json")
    assert last is not None
    assert "cannot read when capture was paused" in (last.error or "")
    assert bench.waiting() == 1  # not lost: the next run takes it in
