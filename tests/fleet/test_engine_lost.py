"""A cluster that can end nothing any more is an error, not a wait without end."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest
from dask import config
from tests.fleet.commands import until

from session_memory.errors import SessionMemoryError
from session_memory.fleet import engine
from session_memory.fleet.engine import DaskEngine, connected
from session_memory.fleet.location import Location

CALLS = [("a", "b"), ("c", "d")]


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines soon give up."""
    monkeypatch.setattr(engine, "LOOK_S", 0.1)
    monkeypatch.setattr(engine, "WITHOUT_WORKERS_S", 0.5)


def client_of(fleet: DaskEngine) -> Any:
    return fleet._client  # pyright: ignore


@pytest.mark.rows("FLT-11")
def test_a_cluster_without_workers_is_an_error_after_a_while() -> None:
    with connected(Location(workers=1), lambda *_: None) as fleet:
        assert sorted(fleet.map("joining", os.path.join, CALLS)) == ["a/b", "c/d"]
        client = client_of(fleet)
        client.cluster.scale(0)
        until(lambda: not client.nthreads(), "the end of the worker")
        with pytest.raises(SessionMemoryError, match="joining: the cluster has had no workers"):
            list(fleet.map("joining", os.path.join, CALLS))


@pytest.mark.rows("FLT-07")
def test_the_only_worker_is_started_again_when_it_is_killed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine, "WITHOUT_WORKERS_S", 120)
    with connected(Location(workers=1), lambda *_: None) as fleet:
        (victim,) = client_of(fleet).run(os.getpid).values()
        os.kill(victim, signal.SIGKILL)
        assert sorted(fleet.map("joining", os.path.join, CALLS)) == ["a/b", "c/d"]
        assert list(client_of(fleet).run(os.getpid).values()) != [victim]


@pytest.mark.rows("FLT-11")
def test_a_scheduler_that_is_gone_is_an_error() -> None:
    def progress(done: int, _total: int, _what: str) -> None:
        assert done == 0
        client.cluster.sync(client.cluster.scheduler.close)

    with (
        config.set({"distributed.comm.timeouts.connect": "1s"}),
        connected(Location(workers=1), progress) as fleet,
    ):
        client = client_of(fleet)
        client.cluster.scale(0)
        until(lambda: not client.nthreads(), "the end of the worker")
        with pytest.raises(SessionMemoryError, match="joining: the scheduler is gone"):
            list(fleet.map("joining", os.path.join, CALLS))
