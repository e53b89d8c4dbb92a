"""Jobs of features: done, or given back with their reason."""

from __future__ import annotations

import pytest
from tests.worker.test_run import Bench, bench, spoken

from session_memory.core.jobs import Job, state_of
from session_memory.errors import ModelUnavailable
from session_memory.store.port import Store

__all__ = ["bench"]


def test_jobs_are_done_or_given_back_with_their_reason(bench: Bench) -> None:
    done: list[str] = []

    def handle(store: Store, job: Job, token: str) -> None:
        if job.key == "bad":
            raise ModelUnavailable("no model answers")
        with store.jobs.completing(job, token):
            done.append(job.key)

    bench.space.sweep()
    with bench.space.store() as store:
        for key in ("good", "bad"):
            store.jobs.enqueue("flush", key, 1, bench.now)
    report = bench.work({"flush": handle})
    assert (report.jobs_done, report.jobs_failed, done) == (1, 1, ["good"])
    with bench.space.store() as store:
        states = {job.key: state_of(job, bench.now) for job in store.jobs.all()}
    assert states == {"good": "done", "bad": "waiting"}


@pytest.mark.rows("ING-15")
def test_a_job_that_breaks_in_an_unforeseen_way_stops_no_other(bench: Bench) -> None:
    bench.space.write(spoken(1, "one"))
    bench.space.sweep()
    done: list[str] = []

    def handle(store: Store, job: Job, token: str) -> None:
        if job.key == "bad":
            raise ZeroDivisionError("an odd job")
        with store.jobs.completing(job, token):
            done.append(job.key)

    with bench.space.store() as store:
        for key in ("bad", "good"):
            store.jobs.enqueue("try", key, "1", bench.now)
    report = bench.work({"try": handle})
    assert (report.jobs_done, report.jobs_failed, done) == (1, 1, ["good"])
    with bench.space.store() as store:
        assert [job.last_error for job in store.jobs.all() if job.key == "bad"] == [
            "ZeroDivisionError: an odd job"
        ]
