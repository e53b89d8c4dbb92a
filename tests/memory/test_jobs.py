"""Memory is made in the background, and only where it may be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.mcp.clients import Talk
from tests.memory.workbench import Bench, answer, no_model, unasked, writes

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.core.jobs import PUT_OFF_MS, RETRIES
from session_memory.core.pauses import Pause
from session_memory.core.spool import SpoolRecord
from session_memory.errors import BudgetSpent, ModelFailed, ModelUnavailable, Refused
from session_memory.memory.jobs import (
    CONSOLIDATE,
    EXTRACT,
    OpenModel,
    enqueue,
    enqueue_consolidation,
    handlers,
    is_opted_out,
    roots_to_rebuild,
    why_not,
)
from session_memory.memory.layout import mark_for_rebuild
from session_memory.model.failures import CallFailed
from session_memory.model.port import Model, Request
from session_memory.paths import Paths
from session_memory.settings import Config, Memory
from session_memory.store.port import Store
from session_memory.store.sqlite.memories import SqliteMemories
from session_memory.testing.scripted_model import ScriptedModel
from session_memory.worker.run import Worker, WorkerReport

OFF = Config(memory=Memory(enabled=False))


def record(session: str = "s1", event: str = "session_start", **fields: Any) -> SpoolRecord:
    flavor = fields.pop("flavor", "claude")
    told: dict[str, Any] = {"transcript": "/logs/s1.jsonl", **fields}
    return SpoolRecord("1", 100, flavor, event, session, **told)


class Untouchable:
    """A store that must not be looked at."""

    def __getattr__(self, name: str) -> object:
        raise AssertionError(f"the store was asked for {name}")


def paths_of(bench: Bench) -> Paths:
    root = bench.space.root
    return Paths(root / "config.toml", bench.data, root / "state", root / "cache")


def work(bench: Bench, open_model: OpenModel, config: Config | None = None) -> WorkerReport:
    """A worker's run over the jobs that are due."""
    state = bench.space.root / "state"
    state.mkdir(exist_ok=True)
    duty = handlers(paths_of(bench), config or Config(), lambda: bench.space.now, open_model)
    return Worker(bench.space.sweep_context(), state, "token", duty).run()


def start(bench: Bench, log: ClaudeLog, event: str = "session_start") -> None:
    with bench.space.store() as store:
        asked = enqueue(store, [record(log.session_id, event)], Config(), bench.space.now)
    assert asked == 1


@pytest.mark.rows("EXT-01")
def test_a_start_only_leaves_a_note_and_the_worker_does_the_rest(bench: Bench) -> None:
    done, current = bench.work(1), bench.work(2)
    bench.swept()
    start(bench, current)
    assert bench.files() == []  # nothing happens where the agent waits
    model = ScriptedModel([answer(), writes()])
    report = work(bench, lambda _store: model)
    assert (report.jobs_done, report.jobs_failed) == (2, 0)  # its trace, then MEMORY.md
    assert "run pytest -q" in bench.page()
    assert set(bench.traces()) == {done.session_id}  # the session at work is not over
    with bench.space.store() as store:
        assert store.jobs.all() == []


@pytest.mark.rows("EXT-01")
def test_the_end_of_a_session_asks_for_its_own_trace(bench: Bench) -> None:
    log = bench.work(1)
    bench.swept()
    start(bench, log, "session_end")
    work(bench, no_model)
    assert set(bench.traces()) == {log.session_id}


@pytest.mark.rows("EXT-01")
def test_a_failure_is_a_warning_and_fails_no_session(bench: Bench) -> None:
    log = bench.work(1)
    bench.swept()
    start(bench, log)
    bench.work(3)

    def broken(_store: Store) -> Model | None:
        raise ModelUnavailable("no key")

    bench.swept()
    report = work(bench, broken)
    assert (report.jobs_done, report.jobs_failed) == (0, 1)
    bench.logs = paths_of(bench).logs
    (told,) = bench.said("extract_failed")
    assert (told["level"], told["reason"]) == ("warning", "no key")
    assert log.session_id in bench.space.sessions()


@pytest.mark.rows("EXT-01")
def test_a_session_that_is_gone_by_then_causes_no_work(bench: Bench) -> None:
    gone = bench.work(1)
    bench.work(2)
    bench.swept()
    start(bench, gone)
    bench.space.forget(sessions=(gone.session_id,))
    report = work(bench, unasked)
    assert (report.jobs_done, report.jobs_failed) == (1, 0)
    assert bench.files() == [] and bench.traces() == {}


@pytest.mark.rows("EXT-02")
@pytest.mark.parametrize(
    ("told", "config"),
    [
        (record(transcript=None, flavor="codex"), Config()),
        (record(), OFF),
        (record(agent="a1"), Config()),
    ],
    ids=["ephemeral", "turned off", "sub-agent"],
)
def test_skipped_sessions_touch_neither_store_nor_files(
    told: SpoolRecord, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    def touched(*_: object) -> None:
        raise AssertionError("a file was looked at")

    monkeypatch.setattr("session_memory.memory.jobs.read_project_rules", touched)
    store: Any = Untouchable()
    assert why_not(told, config) is not None
    assert enqueue(store, [msgspec.structs.replace(told, cwd="/work/shop")], config, 1) == 0
    with pytest.raises(AssertionError):  # and this would have noticed
        enqueue(store, [record(cwd="/work/shop")], Config(), 1)


def test_pauses_and_projects_that_ask_for_it_are_left_alone(bench: Bench, tmp_path: Path) -> None:
    bench.swept()
    repo = tmp_path / "repo"
    (repo / ".git").mkdir(parents=True)
    (repo / "src").mkdir()
    here = record(cwd=str(repo / "src"))
    assert not is_opted_out(str(repo / "src")) and not is_opted_out(None)
    with bench.space.store() as store:
        assert enqueue(store, [here], Config(), 1, pauses=(Pause(100, 101),)) == 0
        (repo / ".session-memory.toml").write_text("enabled = false\n")
        assert enqueue(store, [here], Config(), 1) == 0
        (repo / ".session-memory.toml").unlink()
        assert enqueue(store, [here], Config(), 1) == 1


@pytest.mark.rows("EXT-56")
def test_turned_off_nothing_is_made(bench: Bench) -> None:
    log = bench.work(1)
    bench.swept()
    start(bench, log, "session_end")
    assert work(bench, unasked, OFF).jobs_done == 1
    assert bench.files() == [] and bench.traces() == {}
    with bench.space.store() as store:
        assert enqueue(store, [record(log.session_id, "session_end", turn="2")], OFF, 999) == 0
    config = bench.space.write_config()
    config.write_text(config.read_text() + "[memory]\nenabled = false\n")
    for verb in (("extract", "--now"), ("consolidate", "--all")):
        done = bench.space.run("--config", str(config), "project", "memory", *verb)
        assert done.returncode == 8 and "memory is turned off" in done.stderr
    assert not (bench.data / "memories").exists()


@pytest.mark.rows("EXT-56")
@pytest.mark.parametrize("profile", ["minimal", "standard", "full"])
def test_no_tool_hands_out_memories_by_id(profile: str) -> None:
    with Talk("--profile", profile) as talk:
        talk.greet()
        listed = talk.ask("tools/list")["result"]["tools"]
        names = {tool["name"] for tool in listed}
        assert len(names) >= 7 and not [name for name in names if "get_memory" in name]
        refused = talk.call("get_memory", id="x")
        assert refused["isError"] is True
        assert talk.end()[0] == 0


@pytest.mark.rows("EXT-47")
def test_where_every_session_fails_no_place_is_locked_and_no_agent_started(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = [bench.work(seed, cwd=f"/work/p{seed}") for seed in (1, 2, 3)]
    bench.swept()
    locked: list[str] = []
    real = SqliteMemories.acquire

    def acquire(memories: SqliteMemories, root: str, *rest: Any) -> bool:
        locked.append(root)
        return real(memories, root, *rest)

    monkeypatch.setattr(SqliteMemories, "acquire", acquire)
    failing = ScriptedModel([ModelUnavailable("busy"), ModelFailed("refused"), "no JSON"])
    start(bench, logs[2], "session_end")
    report = work(bench, lambda _store: failing)
    assert (report.jobs_done, report.jobs_failed) == (1, 0), "the pass alone, nothing after it"
    assert pending(bench) == [] and locked == [] and bench.locks() == []
    assert [request.purpose for request in failing.requests] == ["memory.extract"] * 3
    start(bench, logs[2], "session_start")  # and this would have been noticed
    work(bench, lambda _store: ScriptedModel([answer(), answer(), writes(), writes()]))
    assert sorted(locked) == ["/work/p1", "/work/p2"]


def test_a_start_asks_once_and_other_events_never() -> None:
    assert EXTRACT == "memory.extract"
    assert why_not(record(), Config()) is None
    assert why_not(record(event="stop"), Config()) is not None
    assert why_not(record(event="subagent_start"), Config()) is not None


def test_the_roots_that_changed_are_queued_for_consolidation(bench: Bench) -> None:
    log = bench.work(1)
    bench.swept()
    start(bench, log, "session_end")
    state = bench.space.root / "state"
    state.mkdir()
    duties = handlers(paths_of(bench), Config(), lambda: bench.space.now, no_model)
    Worker(bench.space.sweep_context(), state, "token", {EXTRACT: duties[EXTRACT]}).run()
    assert [(kind, key) for kind, key, _ in pending(bench)] == [(CONSOLIDATE, "/work/shop")]


def pending(bench: Bench) -> list[tuple[str, str, int | None]]:
    with bench.space.store() as store:
        return [(job.kind, job.key, job.session_id) for job in store.jobs.all()]


@pytest.mark.rows("EXT-46", "EXT-47")
def test_places_that_changed_are_consolidated_once_each_and_others_not(bench: Bench) -> None:
    first, second = bench.work(1), bench.work(2)
    bench.swept()
    start(bench, second, "session_end")
    report = work(bench, no_model)
    assert report.jobs_done == 2  # both traces in one pass, one consolidation
    assert first.session_id in bench.page() and second.session_id in bench.page()
    with bench.space.store() as store:
        enqueue(store, [record(second.session_id, "session_end", turn="2")], Config(), 999)
    assert work(bench, unasked).jobs_done == 1 and pending(bench) == []  # nothing changed


@pytest.mark.rows("LCK-08")
def test_the_session_that_asked_for_it_owns_the_lock(bench: Bench) -> None:
    log = bench.work(1)
    bench.swept()
    start(bench, log, "session_end")
    owners: list[str] = []

    def look(request: Request) -> str:
        owners.extend(bench.locks())
        return writes()(request)

    model = ScriptedModel([answer(), look])
    work(bench, lambda _store: model)
    assert owners == [log.session_id] and bench.locks() == []


def test_a_failed_consolidation_goes_back_into_the_queue_with_its_reason(bench: Bench) -> None:
    log = bench.work(1)
    bench.swept()
    start(bench, log, "session_end")
    model = ScriptedModel([answer(), CallFailed("no answer", "timeout"), writes()])
    report = work(bench, lambda _store: model)
    assert (report.jobs_done, report.jobs_failed) == (1, 1)
    with bench.space.store() as store:
        (job,) = store.jobs.all()
        assert (job.kind, job.key, job.last_error) == (CONSOLIDATE, "/work/shop", "no answer")
    bench.space.now += 3_600_000
    assert work(bench, lambda _store: model).jobs_done == 1
    assert "run pytest -q" in bench.page() and pending(bench) == []


@pytest.mark.rows("EXT-62")
def test_a_consolidation_the_budget_puts_off_waits_and_loses_no_try(bench: Bench) -> None:
    log = bench.work(1)
    bench.swept()
    start(bench, log, "session_end")
    model = ScriptedModel([answer(), *[BudgetSpent("day cap")] * 5, writes()])
    report = work(bench, lambda _store: model)
    assert (report.jobs_done, report.jobs_put_off, report.jobs_failed) == (1, 1, 0)
    for _ in range(4):
        bench.space.now += PUT_OFF_MS
        report = work(bench, lambda _store: model)
        assert (report.jobs_put_off, report.jobs_failed) == (1, 0)
    with bench.space.store() as store:
        (job,) = store.jobs.all()
        assert (job.retries_left, job.last_error) == (RETRIES, "day cap")
    assert bench.locks() == []
    bench.space.now += PUT_OFF_MS
    assert work(bench, lambda _store: model).jobs_done == 1 and "run pytest -q" in bench.page()


def test_a_place_that_somebody_else_consolidates_is_tried_again_later(bench: Bench) -> None:
    log = bench.work(1)
    bench.swept()
    with bench.space.store() as store:
        assert store.memories.acquire("/work/shop", "manual:x", bench.space.now, 600_000)
    start(bench, log, "session_end")
    assert work(bench, no_model).jobs_failed == 1
    bench.space.now += 600_000
    assert work(bench, no_model).jobs_done == 1 and log.session_id in bench.page()


def test_a_memory_that_lost_a_source_is_made_anew_with_the_next_pass(bench: Bench) -> None:
    log = bench.work(1)
    bench.swept()
    start(bench, log, "session_end")
    work(bench, no_model)
    mark_for_rebuild(bench.folder())
    start(bench, bench.work(2), "session_start")
    work(bench, no_model)
    assert not (bench.folder() / ".rebuild").exists() and log.session_id in bench.page()
    (bench.folder() / "MEMORY.md").unlink()
    mark_for_rebuild(bench.folder())
    with bench.space.store() as store:
        enqueue_consolidation(store, roots_to_rebuild(store, bench.data), bench.space.now)
    work(bench, no_model)
    assert log.session_id in bench.page()


def test_a_worker_that_lost_its_job_puts_nothing_in_place(bench: Bench) -> None:
    bench.work(1)
    bench.swept().extract()
    with bench.space.store() as store:
        enqueue_consolidation(store, ["/work/shop"], bench.space.now)
        job = store.jobs.claim((CONSOLIDATE,), "one", bench.space.now)
        assert job is not None
        store.jobs.retry(job.id)
        assert store.jobs.claim((CONSOLIDATE,), "two", bench.space.now) is not None
        duty = handlers(paths_of(bench), Config(), lambda: bench.space.now, no_model)
        with pytest.raises(Refused):
            duty[CONSOLIDATE](store, job, "one")
    assert not (bench.folder() / "MEMORY.md").exists() and bench.locks() == []


def test_turned_off_a_place_that_was_asked_for_is_left_alone(bench: Bench) -> None:
    bench.work(1)
    bench.swept().extract()
    with bench.space.store() as store:
        enqueue_consolidation(store, ["/work/shop"], bench.space.now)
    assert work(bench, unasked, OFF).jobs_done == 1
    assert pending(bench) == [] and not (bench.folder() / "MEMORY.md").exists()
