"""Raw text ages from the day it was captured: a log that is old at first stays searchable."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest

from session_memory.adapters.claude.log_builder import START, ClaudeLog
from session_memory.ingest.retention import make_plan
from session_memory.testing.old_stores import back_to_version_10
from session_memory.testing.workspace import DAY_MS, NOW, Workspace

LIMIT = 28
LONG_AGO = START - 900 * DAY_MS


def talk(seed: int = 1, start: int = LONG_AGO) -> ClaudeLog:
    log = ClaudeLog(seed, start=start)
    log.prompt(f"please mend the teapot {seed}")
    log.say("it is mended")
    return log


def states(space: Workspace) -> list[str]:
    return [found.state for found in space.sessions().values()]


def sweep(space: Workspace, day: int) -> int:
    """Sweep so many days after the first one; how many sessions went by age."""
    space.now = NOW + day * DAY_MS
    return space.sweep().retention.age


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    """A workspace in which raw text ages out."""
    return Workspace(tmp_path, raw_max_age_days=LIMIT)


@pytest.mark.rows("RET-04")
def test_old_logs_that_are_new_to_the_store_are_kept_and_found(space: Workspace) -> None:
    space.write(talk())
    space.retention = type(space.retention)()  # as a newcomer has it
    config = str(space.write_config())
    done = space.run("--config", config, "sweep", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["retention"]["age"] == 0
    assert "teapot" in space.run("--config", config, "search", "teapot").stdout
    found = json.loads(space.run("--config", config, "store", "retention", "plan", "--json").stdout)
    assert found["evictions"] == []


@pytest.mark.rows("RET-04")
def test_raw_text_goes_when_it_was_captured_longer_ago_than_the_limit(space: Workspace) -> None:
    space.write(talk(1))
    assert sweep(space, 0) == 0
    space.write(talk(2))
    assert sweep(space, 1) == 0
    assert sweep(space, LIMIT) == 0
    assert sweep(space, LIMIT + 1) == 1
    assert sorted(states(space)) == ["analyzed", "raw_evicted"]
    assert sweep(space, LIMIT + 2) == 1


@pytest.mark.rows("RET-04")
def test_the_age_of_a_session_that_grows_counts_from_its_last_capture(space: Workspace) -> None:
    log = talk()
    space.write(log)
    sweep(space, 0)
    log.prompt("and polish it")
    space.write(log)
    assert sweep(space, LIMIT) == 0
    assert sweep(space, 2 * LIMIT) == 0
    assert sweep(space, 2 * LIMIT + 1) == 1


@pytest.mark.rows("RET-04")
def test_reading_an_unchanged_log_again_makes_nothing_younger(space: Workspace) -> None:
    (path,) = space.write(talk())
    sweep(space, 0)
    path.write_bytes(path.read_bytes())  # another time stamp, so that it is read again
    assert sweep(space, LIMIT) == 0
    assert space.report is not None and space.report.ingested == 1
    assert sweep(space, LIMIT + 1) == 1


@pytest.mark.rows("RET-04")
def test_an_undistilled_session_stays_however_old(space: Workspace) -> None:
    space.write(talk())
    sweep(space, 0)
    db = apsw.Connection(str(space.store_directory / "store.db"))
    db.execute("UPDATE session SET state = 'captured'")
    db.close()
    with space.store() as store:
        assert store.oldest_analyzed() is None
    with space.store() as store:
        far_away = NOW + 9999 * DAY_MS
        assert make_plan(store, space.retention, far_away).evictions == ()


@pytest.mark.rows("RET-04")
def test_an_imported_session_is_as_old_as_its_import(space: Workspace, tmp_path: Path) -> None:
    other = Workspace(tmp_path / "other", raw_max_age_days=None)
    other.write(talk())
    other.now = LONG_AGO
    other.sweep()
    archive = tmp_path / "archive.jsonl"
    config = str(other.write_config())
    assert other.run("--config", config, "store", "export", str(archive)).returncode == 0
    config = str(space.write_config())
    assert space.run("--config", config, "store", "import", str(archive)).returncode == 0
    done = space.run("--config", config, "sweep", "--json")
    assert json.loads(done.stdout)["retention"]["age"] == 0
    assert states(space) == ["analyzed"]


@pytest.mark.rows("RET-04")
def test_a_store_made_before_captures_were_noted_ages_from_capture_or_end(
    space: Workspace,
) -> None:
    """It knew when a session was first seen; where it grew since, its end is the better bound."""
    space.write(talk(1), talk(2, start=NOW + 9 * DAY_MS))
    sweep(space, 0)
    back_to_version_10(space.store_directory)
    assert sweep(space, LIMIT) == 0
    assert sweep(space, LIMIT + 1) == 1
    assert sweep(space, LIMIT + 9) == 0
    assert sweep(space, LIMIT + 10) == 1


@pytest.mark.rows("RET-07")
def test_what_was_evicted_is_told_with_number_bytes_and_reason(space: Workspace) -> None:
    space.write(talk(1), talk(2))
    sweep(space, 0)  # long ago, by the clock of the machine
    with space.store() as store:
        size = store.raw_usage().raw_bytes
    config = str(space.write_config())
    plan = space.run("--config", config, "store", "retention", "plan").stdout
    assert plan.count("captured more than 28 days ago (raw_max_age_days)") == 2
    done = json.loads(space.run("--config", config, "sweep", "--json").stdout)
    assert done["retention"]["evicted"] == [
        {
            "reason": "age",
            "sessions": 2,
            "bytes": size,
            "why": "captured more than 28 days ago (raw_max_age_days)",
        }
    ]
    status = space.run("--config", config, "status").stdout
    (line,) = (text for text in status.splitlines() if text.startswith("evicted"))
    assert "2 by age (" in line
    found = json.loads(space.run("--config", config, "status", "--json").stdout)
    (told,) = found["store"]["evicted"]
    assert (told["reason"], told["sessions"], told["bytes"]) == ("age", 2, size)


@pytest.mark.rows("RET-07")
def test_the_text_of_the_report_tells_each_reason_that_took_something(space: Workspace) -> None:
    space.write(talk(1), talk(2))
    sweep(space, 0)
    done = space.run("--config", str(space.write_config()), "sweep").stdout
    (line,) = (text for text in done.splitlines() if text.startswith("evicted "))
    assert line.startswith("evicted    2 sessions, ")
    assert line.endswith(" of raw text: captured more than 28 days ago (raw_max_age_days)")
    again = space.run("--config", str(space.write_config()), "sweep").stdout
    assert "evicted " not in again
