"""From what a hook noted to an entry in the project's log, through jobs that can be done again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from session_memory.adapters.claude.log_builder import ClaudeLog, text_block
from session_memory.clock import local_date
from session_memory.core.jobs import LEASE_MS, Job, state_of
from session_memory.core.spool import SpoolRecord
from session_memory.errors import BudgetSpent
from session_memory.journal import daily, jobs
from session_memory.journal.compile import CompileFailedError
from session_memory.journal.excerpt import make_excerpt
from session_memory.journal.paths import JournalPaths, journal_paths
from session_memory.model.port import Model
from session_memory.paths import Paths
from session_memory.settings import Config, Journal
from session_memory.store.port import SessionQuery, Store
from session_memory.testing.faults import Stopped
from session_memory.testing.scripted_model import ScriptedModel
from session_memory.testing.workspace import Workspace
from session_memory.worker.run import Worker

CWD = "/work/shop"


class Shop:
    """A swept session, and a worker's hands."""

    def __init__(self, root: Path, turns: int = 6, **settings: Any) -> None:
        self.space = Workspace(root)
        self.log = ClaudeLog(1, cwd=CWD)
        for number in range(turns // 2):
            self.log.prompt(f"please do step {number} of the parser")
            self.log.reply(text_block(f"Decision: step {number} is done with tabs."))
        self.space.write(self.log)
        self.space.sweep()
        self.config = Config(journal=Journal(**settings))
        self.model: Model | None = None

    @property
    def journal(self) -> JournalPaths:
        return journal_paths(self.space.store_directory, CWD)

    def record(self, event: str, at: int = 5, **fields: Any) -> SpoolRecord:
        return SpoolRecord("1", at, "claude", event, session=self.log.session_id, **fields)

    def enqueue(self, *records: SpoolRecord) -> int:
        with self.space.store() as store:
            return jobs.enqueue(store, records, self.config.journal, self.space.now)

    def work(self, kinds: tuple[str, ...] = (jobs.FLUSH,)) -> int:
        """Do every due job of these kinds, as the worker does."""
        directory = self.space.store_directory
        paths = Paths(directory / "c", directory, directory / "state", directory / "cache")

        def opened(_store: Store) -> Model | None:
            return self.model

        handlers = jobs.handlers(paths, self.config, lambda: self.space.now, opened)
        done = 0
        with self.space.store() as store:
            while job := store.jobs.claim(kinds, "token", self.space.now):
                handlers[job.kind](store, job, "token")
                done += 1
        return done

    def entries(self) -> list[daily.Entry]:
        return [e for path in daily.days(self.journal) for e in daily.entries(path.read_text())]


def test_the_end_of_a_session_becomes_an_entry(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    assert shop.enqueue(shop.record("session_end")) == 1
    assert shop.work() == 1
    (entry,) = shop.entries()
    assert entry.session == shop.log.session_id
    assert "done with tabs" in entry.content
    assert list(shop.journal.excerpts.iterdir()) == []
    with shop.space.store() as store:
        states = {job.kind: state_of(job, shop.space.now) for job in store.jobs.all()}
    assert states == {jobs.FLUSH: "done", jobs.COMPILE: "due"}
    assert shop.work((jobs.COMPILE,)) == 1
    assert shop.journal.state.exists()


@pytest.mark.rows("HOK-02")
@pytest.mark.parametrize(("event", "saved"), [("pre_compact", 0), ("session_end", 1)])
def test_four_turns_are_enough_for_an_end_and_not_for_a_compaction(
    tmp_path: Path, event: str, saved: int
) -> None:
    shop = Shop(tmp_path, turns=4)
    assert shop.enqueue(shop.record(event, trigger="auto")) == 1
    assert shop.work() == 1
    assert len(shop.entries()) == saved


@pytest.mark.rows("HOK-02")
def test_how_many_turns_are_enough_can_be_set(tmp_path: Path) -> None:
    shop = Shop(tmp_path, turns=4, min_turns_compaction=4, min_turns_end=5)
    shop.enqueue(shop.record("pre_compact"), shop.record("session_end"))
    assert shop.work() == 2
    assert len(shop.entries()) == 1


def test_other_events_unknown_sessions_and_a_closed_journal_ask_for_nothing(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    strange = replace(shop.record("session_end"), session="never-seen")
    other = replace(shop.record("session_end"), flavor="codex")
    agent = shop.record("session_end", agent="sub")
    assert shop.enqueue(shop.record("stop"), strange, other, agent) == 0
    shop.config = Config(journal=Journal(enabled=False))
    assert shop.enqueue(shop.record("session_end")) == 0
    assert shop.work() == 0


def test_a_model_that_is_turned_on_writes_the_entry(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    model = ScriptedModel(["from the model"])
    shop.model = model
    shop.enqueue(shop.record("session_end"))
    shop.work()
    assert [entry.content for entry in shop.entries()] == ["from the model"]
    assert "step 2 of the parser" in model.requests[0].user


def test_a_failed_flush_ends_its_job_and_keeps_its_context(tmp_path: Path) -> None:
    shop = Shop(tmp_path, attempts=1)
    shop.model = ScriptedModel([ValueError("no")])
    shop.enqueue(shop.record("session_end"))
    assert shop.work() == 1
    assert shop.entries() == [] and len(list(shop.journal.excerpts.glob("*.md"))) == 1
    assert shop.work() == 0


@pytest.mark.parametrize("step", ["append_entry", "save_flush_record", "_discard", "completing"])
def test_a_job_that_died_after_any_step_is_done_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    shop = Shop(tmp_path)
    shop.enqueue(shop.record("session_end"))
    with monkeypatch.context() as patch:
        _die_after(patch, step)
        with pytest.raises(Stopped):
            shop.work()
    shop.space.now += LEASE_MS + 1  # the lease has run out, and the minute of repeats with it
    assert shop.work() == 1
    assert len(shop.entries()) == 1
    assert list(shop.journal.excerpts.iterdir()) == []


def _die_after(patch: pytest.MonkeyPatch, step: str) -> None:
    from session_memory.journal import flush, flush_records
    from session_memory.store.sqlite.jobs import SqliteJobs

    owners: dict[str, Any] = {
        "append_entry": daily,
        "save_flush_record": flush_records,
        "_discard": flush,
    }
    owner = owners.get(step, SqliteJobs)
    real = getattr(owner, step)

    def dying(*arguments: Any) -> None:
        if step != "completing":  # it dies before its commit
            real(*arguments)
        raise Stopped(step)

    patch.setattr(owner, step, dying)


def test_a_second_flush_of_a_session_tells_only_what_is_new(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.enqueue(shop.record("pre_compact", at=5))
    shop.work()
    shop.log.prompt("and now the printer please")
    shop.log.reply(text_block("Decision: the printer is written in blue."))
    shop.space.write(shop.log)
    shop.space.sweep()
    shop.space.now += 60_000
    shop.enqueue(shop.record("session_end", at=9))
    shop.work()
    first, second = shop.entries()
    assert "tabs" in first.content
    assert "blue" in second.content and "tabs" not in second.content


def test_the_worker_does_the_job_beside_its_others(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.enqueue(shop.record("session_end"))
    directory = shop.space.store_directory
    paths = Paths(directory / "c", directory, tmp_path / "state", directory / "cache")
    paths.state.mkdir()
    handlers = jobs.handlers(paths, shop.config, lambda: shop.space.now, lambda _store: None)
    report = Worker(shop.space.sweep_context(), paths.state, "token", handlers).run()
    assert (report.jobs_done, report.jobs_failed) == (2, 0)  # the flush, then its compile
    assert len(shop.entries()) == 1
    assert shop.journal.state.exists()


def test_a_journal_that_cannot_be_written_fails_the_job_and_not_the_worker(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.enqueue(shop.record("session_end"))
    shop.journal.root.parent.mkdir(parents=True)
    shop.journal.root.write_text("in the way")
    done: list[str] = []
    with shop.space.store() as store:
        store.jobs.enqueue("other", "x", 1, shop.space.now + 1)
    directory = shop.space.store_directory
    paths = Paths(directory / "c", directory, tmp_path / "state", directory / "cache")
    paths.state.mkdir()

    def note(store: Store, job: Job, _token: str) -> None:
        done.append(job.key)
        store.jobs.drop(job.id)

    handlers = jobs.handlers(paths, shop.config, lambda: shop.space.now, lambda _store: None)
    worker = Worker(shop.space.sweep_context(), paths.state, "t", {**handlers, "other": note})
    report = worker.run()
    assert (report.jobs_failed, report.jobs_done, done) == (1, 1, ["x"])
    with shop.space.store() as store:
        (job,) = store.jobs.all()
        assert "the journal cannot be written" in str(job.last_error)
    shop.journal.root.unlink()
    shop.space.now += LEASE_MS + 1
    shop.work()
    assert len(shop.entries()) == 1


@pytest.mark.rows("HOK-10")
def test_a_secret_that_an_older_rule_let_through_does_not_reach_the_context_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = "ghp_" + "a1B2" * 9
    written: list[str] = []

    def keeping(turns: Any, clean: Any) -> str:
        leaky = [*turns, replace(turns[-1], text=f"use {token}")]
        written.append(make_excerpt(leaky, clean))
        return written[-1]

    monkeypatch.setattr(jobs, "make_excerpt", keeping)
    shop = Shop(tmp_path, attempts=1)
    shop.model = ScriptedModel([ValueError("no")])
    shop.enqueue(shop.record("session_end"))
    shop.work()
    (context,) = shop.journal.excerpts.glob("*.md")
    assert token not in context.read_text() and "[REDACTED_SECRET]" in context.read_text()


@pytest.mark.rows("KB-08")
def test_a_compile_that_fails_gives_its_job_back_and_is_done_later(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.enqueue(shop.record("session_end"))
    shop.work()
    shop.model = ScriptedModel(["nonsense", '{"articles": []}'])
    with pytest.raises(CompileFailedError, match="2026-03-02"):
        shop.work((jobs.COMPILE,))
    assert "failed" in shop.journal.compile_log.read_text()
    shop.space.now += LEASE_MS + 1
    assert shop.work((jobs.COMPILE,)) == 1
    assert shop.journal.state.exists()


@pytest.mark.rows("EXT-62")
def test_a_compile_the_budget_forbids_is_put_off_and_loses_no_try(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.enqueue(shop.record("session_end"))
    shop.work()
    shop.model = ScriptedModel([BudgetSpent("day cap"), '{"articles": []}'])
    with pytest.raises(BudgetSpent, match="day cap"):
        shop.work((jobs.COMPILE,))
    assert "put off: day cap" in shop.journal.compile_log.read_text()
    assert not shop.journal.state.exists()


def test_an_entry_stands_on_the_day_its_session_ended(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    with shop.space.store() as store:
        (session,) = store.sessions(SessionQuery())
    assert session.ended_at is not None
    shop.space.now = session.ended_at + 40 * 86_400_000
    shop.enqueue(shop.record("session_end"))
    shop.work()
    (log,) = daily.days(shop.journal)
    assert log.stem == local_date(session.ended_at)
