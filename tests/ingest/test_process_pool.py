"""A sweep with several processes: the same store, whatever becomes of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from session_memory.adapters import registry
from session_memory.adapters.agent import from_adapter
from session_memory.adapters.claude.log_builder import START, ClaudeLog
from session_memory.adapters.common import Adapter, Block, Normalized, SourceFile
from session_memory.core.pauses import Pause
from session_memory.distil.sessions import Distilled
from session_memory.ingest import ahead, pool_jobs, process_pool
from session_memory.ingest.pauses import write_pauses
from session_memory.ingest.report import SweepReport
from session_memory.ingest.sweep import sweep
from session_memory.store.port import DistilStore
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace

SECRET = "ghp_" + "a1B2c3D4e5F6" * 3
LINUX = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="looks into /proc")
# Sizes of packed text differ by the keys of the two stores.
FIGURES = set(SweepReport.__struct_fields__) - {"seconds", "cpu_seconds", "retention"}


@pytest.fixture(autouse=True)
def small_files_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pool processes draft the small logs of these tests."""
    monkeypatch.setattr(ahead, "SMALL", 0)


@pytest.fixture(autouse=True)
def forked_on_linux(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread that an earlier test left behind would have these pools spawned instead."""
    monkeypatch.setattr(process_pool, "can_fork", lambda: sys.platform == "linux")


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    """Logs of two agents in several commits: secrets, a fork, damage, a file that fails."""
    space = Workspace(tmp_path)
    write_samples(space.claude)
    for seed in range(1, 25):
        space.write(talk(seed))
    torn = talk(30).write(space.claude)
    torn.write_bytes(torn.read_bytes()[:-30] + b"\n{ no record\n")
    torn.with_name("bad.jsonl.gz").write_bytes(b"\x1f\x8b no gzip file at all")
    torn.with_name("nothing.jsonl").write_bytes(b"\x00\x01 no log" * 50)
    space.set_ingest(commit_bytes=20_000)
    return space


def talk(seed: int) -> ClaudeLog:
    log = ClaudeLog(seed, cwd=f"/work/p{seed % 3}")
    log.prompt(f"Why does build {seed} fail? The token is {SECRET}")
    log.run(f"make {seed}", "make: *** no rule\n" + "trace line\n" * 300, exit_code=2)
    log.read(f"/work/{SECRET}/file", "text")
    log.say("There is no Makefile. Decision: we use ninja instead of make.")
    return log


def sweep_with(space: Workspace, jobs: int) -> SweepReport:
    return sweep(msgspec.structs.replace(space.sweep_context(), jobs=jobs))


def figures(report: SweepReport) -> dict[str, Any]:
    return {name: getattr(report, name) for name in FIGURES}


def damage_parsing(monkeypatch: pytest.MonkeyPatch, what: Callable[[SourceFile], None]) -> Adapter:
    """Claude's adapter, with something happening to a pool process that parses a file."""
    own, sweeping = registry.adapter("claude"), os.getpid()

    def parse(file: SourceFile, block: Block, state: dict[str, Any]) -> Normalized:
        if os.getpid() != sweeping:
            what(file)
        return own.parse(file, block, state)

    adapter = msgspec.structs.replace(own, parse=parse)
    monkeypatch.setattr(registry, "_registered", {"claude": from_adapter(adapter)})
    return adapter


@pytest.mark.rows("ING-22")
@pytest.mark.parametrize("forks", [True, False], ids=["forked", "spawned"])
def test_the_store_and_the_report_are_those_of_one_process(
    space: Workspace, monkeypatch: pytest.MonkeyPatch, forks: bool
) -> None:
    if forks and not process_pool.can_fork():
        pytest.skip("this system does not fork")
    monkeypatch.setattr(process_pool, "can_fork", lambda: forks)
    answers: list[bytes | None] = []
    take = process_pool.ProcessPool.take

    def noting(self: process_pool.ProcessPool, job: process_pool.Job) -> bytes | None:
        deadline = time.monotonic() + 60
        while not (answers or job.is_sent):  # until the pool has come up
            assert time.monotonic() < deadline, "no process of the pool did anything"
            os.sched_yield()
        answers.append(take(self, job))
        return answers[-1]

    monkeypatch.setattr(process_pool.ProcessPool, "take", noting)
    alone = space.with_store("alone")
    for each in (space, alone):
        write_pauses(str(each.store_directory), (Pause(START, START + 2_000),))
    one, three = sweep_with(alone, 1), sweep_with(space, 3)
    assert any(answers)
    assert len(one.failed) == 2
    assert figures(three) == figures(one)
    assert space.dump() == alone.dump()
    assert space.findings() == []


@LINUX
@pytest.mark.rows("ING-23")
def test_a_file_that_kills_its_process_is_the_only_one_that_fails(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = space.with_store("alone")
    sweep_with(alone, 1)
    victim = space.files()[6]

    def die(file: SourceFile) -> None:
        if file.path == str(victim):
            os.kill(os.getpid(), signal.SIGKILL)

    with monkeypatch.context() as patch:
        space.adapters = {"claude": damage_parsing(patch, die)}
        hold_back(patch, victim)
        report = sweep_with(space, 3)
    failed = {failure.path: failure.reason for failure in report.failed}
    assert "ended unexpectedly" in failed.pop(str(victim))
    assert sorted(Path(path).name for path in failed) == ["bad.jsonl.gz", "nothing.jsonl"]
    assert report.ingested == report.discovered - 3
    assert report.failed_steps == []
    space.adapters = alone.adapters
    sweep_with(space, 1)
    assert space.dump() == alone.dump()


def hold_back(patch: pytest.MonkeyPatch, victim: Path) -> None:
    """Let the sweep not read this file itself before a pool process has begun with it."""
    take = process_pool.ProcessPool.take

    def patient(self: process_pool.ProcessPool, job: process_pool.Job) -> bytes | None:
        while os.fsencode(victim) in job.message and not job.is_sent:
            os.sched_yield()
        return take(self, job)

    patch.setattr(process_pool.ProcessPool, "take", patient)


@LINUX
@pytest.mark.rows("ING-23")
def test_a_sweep_whose_pool_dies_goes_on_alone(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = space.with_store("alone")
    sweep_with(alone, 1)

    def die(_file: SourceFile) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    space.adapters = {"claude": damage_parsing(monkeypatch, die)}
    report = sweep_with(space, 3)
    assert len(report.failed) <= 4, "each pool process can cost one file"
    assert report.ingested + len(report.failed) == report.discovered
    sweep_with(space, 1)
    assert space.dump() == alone.dump()


@pytest.mark.rows("ING-23")
def test_a_sweep_that_can_start_no_process_goes_on_alone(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OSError(11, "Resource temporarily unavailable")

    alone = space.with_store("alone")
    sweep_with(alone, 1)
    for name in ("_forked", "_spawned"):
        monkeypatch.setattr(process_pool, name, refuse)
    report = sweep_with(space, 3)
    assert report.failed_steps == []
    assert space.dump() == alone.dump()


@pytest.mark.parametrize(("jobs", "by_the_pool"), [(2, False), (3, True)])
def test_a_single_pool_process_drafts_and_leaves_distilling_to_the_sweep(
    space: Workspace, monkeypatch: pytest.MonkeyPatch, jobs: int, by_the_pool: bool
) -> None:
    sent: list[pool_jobs.PoolJob] = []
    submit = process_pool.ProcessPool.submit
    read = msgspec.msgpack.Decoder(pool_jobs.PoolJob).decode

    def noting(
        self: process_pool.ProcessPool, message: bytes, *, urgent: bool = False
    ) -> process_pool.Job:
        sent.append(read(message))
        return submit(self, message, urgent=urgent)

    monkeypatch.setattr(process_pool.ProcessPool, "submit", noting)
    report = sweep_with(space, jobs)
    assert any(isinstance(job, pool_jobs.PrepareJob) for job in sent)
    assert any(isinstance(job, pool_jobs.DistilJob) for job in sent) == by_the_pool
    assert len(report.digested) == len(space.sessions())


@LINUX
@pytest.mark.rows("ING-23")
def test_a_session_that_kills_its_process_is_the_only_one_without_a_digest(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = space.with_store("alone")
    sweep_with(alone, 1)
    real, sweeping = pool_jobs.distil, os.getpid()

    def deadly(store: DistilStore, session_id: int) -> Distilled:
        if os.getpid() != sweeping and session_id == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(store, session_id)

    with monkeypatch.context() as patch:
        patch.setattr(pool_jobs, "distil", deadly)
        patch.setattr(process_pool.ProcessPool, "withdraw", lambda _self, _job: False)
        patch.setattr(process_pool.ProcessPool, "take", taking_sent(process_pool.ProcessPool.take))
        report = sweep_with(space, 3)
    (failure,) = report.failed_steps
    assert (failure.step, "ended unexpectedly" in failure.reason) == ("digest", True)
    assert report.analyzed == len(space.sessions()) - 1
    again = sweep_with(space, 1)
    assert (again.analyzed, again.failed_steps) == (1, [])
    assert space.dump() == alone.dump()


def taking_sent(
    take: Callable[[process_pool.ProcessPool, process_pool.Job], bytes | None],
) -> Callable[[process_pool.ProcessPool, process_pool.Job], bytes | None]:
    """Take answers of distilling only once a pool process has begun, as long as one is left."""

    def patient(self: process_pool.ProcessPool, job: process_pool.Job) -> bytes | None:
        while b"DistilJob" in job.message and not job.is_sent and _is_alive(self.pids[0]):
            os.sched_yield()
        return take(self, job)

    return patient


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


@LINUX
@pytest.mark.rows("ING-23")
def test_the_pool_ends_with_a_killed_sweep_and_holds_no_lock_of_it(space: Workspace) -> None:
    alone = space.with_store("alone")
    sweep_with(alone, 1)
    for seed in range(100, 160):
        talk(seed).write(space.claude)
    sweep_with(alone, 1)
    config = str(space.write_config())
    process = space.start("--config", config, "sweep", "--jobs", "3")
    workers = _children(process)
    assert len(workers) == 2, "the sweep was over before its pool processes were seen"
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)  # as good as busy: they cannot notice anything now
    process.kill()
    process.communicate(timeout=60)
    done = space.run_process("--config", config, "sweep")
    assert "already running" not in done.stdout + done.stderr
    assert space.dump() == alone.dump()
    for pid in workers:
        os.kill(pid, signal.SIGCONT)
    deadline = time.monotonic() + 60
    while any(_is_alive(pid) for pid in workers):
        assert time.monotonic() < deadline, "a pool process outlived its sweep"
        os.sched_yield()


def _children(process: subprocess.Popen[str]) -> list[int]:
    """The pool processes of a sweep, as soon as they are there."""
    listing = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None:
        pids = [int(pid) for pid in listing.read_text().split()]
        if len(pids) == 2 and all(map(_has_let_go, pids)):
            return pids
    return []


def _has_let_go(pid: int) -> bool:
    """Whether a pool process has begun, without the files of the process it was forked from."""
    try:
        held = {os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()}
    except OSError:
        return False
    return os.devnull in held and not any(name.endswith("sweep.lock") for name in held)


@pytest.mark.rows("ING-22")
def test_the_command_takes_a_number_of_processes(space: Workspace) -> None:
    config = str(space.write_config())
    done = space.run_process("--config", config, "sweep", "--jobs", "2")
    assert done.returncode == 3, done.stderr  # two files fail
    alone = space.with_store("alone")
    sweep_with(alone, 1)
    assert space.dump() == alone.dump()
    assert space.run("--config", config, "sweep", "--jobs", "0").returncode == 2
