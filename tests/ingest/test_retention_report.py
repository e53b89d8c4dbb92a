"""What retention did and could not do, as a person reads it after a sweep."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import apsw
import pytest

from session_memory.adapters.claude.log_builder import START, ClaudeLog
from session_memory.testing.workspace import DAY_MS, Workspace


def talk(seed: int) -> ClaudeLog:
    log = ClaudeLog(seed, start=START + seed * DAY_MS)
    log.prompt("please fix the build")
    log.run("make", "make: *** [all] Error 1", exit_code=2)
    log.run("make", "make: *** [all] Error 1", exit_code=2)
    log.run("make", "ok")
    log.say("Decision: we build with make.")
    return log


def command(space: Workspace, *words: str) -> subprocess.CompletedProcess[str]:
    return space.run("--config", str(space.write_config()), *words)


def lines_of(text: str, head: str) -> list[str]:
    return [line for line in text.splitlines() if line.split(maxsplit=1)[0] == head]


def distilled(space: Workspace) -> dict[str, list[Any]]:
    """Every row of what is kept for good."""
    db = apsw.Connection(str(space.store_directory / "store.db"))
    tables = {
        "digest": "SELECT session_id, body FROM digest ORDER BY 1",
        "pattern": "SELECT id, kind, type, locus, status, frequency FROM pattern ORDER BY 1",
        "observation": "SELECT session_id, hash, type, status, text FROM observation ORDER BY 1, 2",
        "mined": "SELECT session_id, body FROM mined ORDER BY 1",
    }
    found = {name: db.execute(sql).fetchall() for name, sql in tables.items()}
    db.close()
    return found


@pytest.fixture
def logs(space: Workspace) -> list[ClaudeLog]:
    """Five sessions that were swept and mined by the real program."""
    made = [talk(seed) for seed in range(1, 6)]
    space.write(*made)
    assert command(space, "sweep").returncode == 0
    assert command(space, "rules", "detect").returncode == 0
    return made


@pytest.mark.rows("RET-05")
def test_above_the_distilled_cap_the_report_alerts_and_everything_stays(
    space: Workspace, logs: list[ClaudeLog]
) -> None:
    before = distilled(space)
    assert all(before.values()), "there must be something to drop"
    assert len(before["digest"]) == len(logs)
    space.set_retention(distilled_cap_bytes=1, raw_soft_cap_bytes=1, raw_hard_cap_bytes=1)
    done = command(space, "sweep")
    assert done.returncode == 0
    (alert,) = lines_of(done.stdout, "alert")
    assert "above distilled_cap_bytes (1 B); nothing of it was deleted" in alert
    assert len(lines_of(done.stdout, "evicted")) == 1  # raw text went, and only that
    assert distilled(space) == before
    told = json.loads(command(space, "sweep", "--json").stdout)["retention"]
    assert (len(told["alerts"]), told["freed"]) == (1, 0)
    assert distilled(space) == before
    again = json.loads(command(space, "rules", "detect", "--json").stdout)
    assert [one["id"] for one in again], "patterns are still found without raw text"
    assert distilled(space) == before


@pytest.mark.rows("RET-05")
def test_below_the_distilled_cap_nothing_alerts(space: Workspace, logs: list[ClaudeLog]) -> None:
    assert lines_of(command(space, "sweep").stdout, "alert") == []
    assert len(space.sessions()) == len(logs)


def undo_digests(space: Workspace) -> None:
    """As if a sweep had been cut off, and what it stored cannot be read any more."""
    db = apsw.Connection(str(space.store_directory / "store.db"))
    db.execute("DELETE FROM digest")
    db.execute("UPDATE session SET state = 'captured'")
    db.close()
    for path in space.store_directory.rglob("*.seg"):
        path.write_bytes(b"no longer what it was")


@pytest.mark.rows("RET-03")
def test_a_sweep_that_loses_something_names_each_session_and_the_bytes(
    space: Workspace, logs: list[ClaudeLog]
) -> None:
    undo_digests(space)
    with space.store() as store:
        size = store.raw_usage().raw_bytes
    space.set_retention(raw_soft_cap_bytes=1, raw_hard_cap_bytes=1)
    twin = space.store_directory.with_name("twin")
    subprocess.run(["cp", "-r", str(space.store_directory), str(twin)], check=True)
    done = command(space, "sweep")
    assert done.returncode == 3
    (line,) = lines_of(done.stdout, "data_loss")
    assert all(log.session_id in line for log in logs)
    assert f"5 sessions, {size / 1024:.1f} KiB" in line
    (passes,) = lines_of(done.stdout, "evict")
    assert passes.endswith("age 0, soft 0, hard 5")
    told = json.loads(command(space.with_store("twin"), "sweep", "--json").stdout)["retention"]
    assert sorted(told["data_loss"]) == sorted(log.session_id for log in logs)
    assert told["data_loss_bytes"] == size


@pytest.mark.rows("RET-03")
def test_a_hard_cap_takes_only_as_many_undistilled_sessions_as_it_must(
    space: Workspace, logs: list[ClaudeLog]
) -> None:
    undo_digests(space)
    with space.store() as store:
        shares = {raw.external_id: raw.raw_bytes for raw in store.raw_sessions()}
    oldest = logs[0].session_id
    space.set_retention(raw_soft_cap_bytes=1, raw_hard_cap_bytes=sum(shares.values()) - 1)
    line = space.sweep().retention
    assert (line.data_loss, line.data_loss_bytes) == ([oldest], shares[oldest])


@pytest.mark.rows("RET-03")
def test_where_distilled_sessions_suffice_the_report_tells_of_no_loss(
    space: Workspace, logs: list[ClaudeLog]
) -> None:
    space.set_retention(raw_soft_cap_bytes=1, raw_hard_cap_bytes=1)
    done = command(space, "sweep")
    assert done.returncode == 0
    assert "data_loss" not in done.stdout
    assert all(space.digest(log.session_id) for log in logs)
