"""Raw text that had to go before it was distilled is named, and read again from its log."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import apsw
import msgspec
import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.core.retention.plan import Eviction
from session_memory.core.schema import Digest
from session_memory.testing.old_stores import back_to_version_11
from session_memory.testing.workspace import Workspace

ROOT = Path(__file__).resolve().parents[2]


def talk(seed: int = 1) -> ClaudeLog:
    log = ClaudeLog(seed)
    log.prompt(f"please fix the build of {seed}")
    log.run("make", "built " + "x" * 500)
    log.say("it builds")
    return log


def grow(log: ClaudeLog) -> None:
    log.prompt("one more thing")
    log.run("make more", "error: it broke", exit_code=2)


def kill_before_digests(space: Workspace) -> None:
    """A real process that is killed with -9 between capture and digest."""
    module = "tests.ingest.killed_before_digest"
    done = subprocess.run(
        [sys.executable, "-m", module, "--config", str(space.write_config()), "sweep"],
        env=space.environ(),
        cwd=ROOT,
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    with space.store() as store:
        assert len(store.unanalyzed()) == len(space.sessions())


def command(space: Workspace, *words: str) -> subprocess.CompletedProcess[str]:
    return space.run("--config", str(space.write_config()), *words)


def as_json(space: Workspace, *words: str) -> dict[str, Any]:
    return json.loads(command(space, *words, "--json").stdout)


def digests_check(space: Workspace) -> dict[str, Any]:
    checks = as_json(space, "doctor", "--quick")["checks"]
    return next(check for check in checks if check["name"] == "digests")


def damage_texts(space: Workspace) -> None:
    """Make the stored texts unreadable, so that no digest can be made of them."""
    for path in space.store_directory.rglob("*.seg"):
        path.write_bytes(b"no longer what it was")


def lose(space: Workspace, log: ClaudeLog) -> None:
    """Drop a session's raw text as if it had not been distilled."""
    with space.store() as store:
        raw = {one.external_id: one for one in store.raw_sessions()}[log.session_id]
        eviction = Eviction(raw.session_id, raw.external_id, raw.raw_bytes, "hard", data_loss=True)
        store.evict([eviction], space.now)


def digest_of(space: Workspace, log: ClaudeLog) -> Digest:
    digest = space.digest(log.session_id)
    assert digest is not None
    return digest


def undisturbed(space: Workspace, store: str = "undisturbed") -> list[dict[str, Any]]:
    """What the logs give a store that nothing happened to."""
    other = space.with_store(store)
    other.sweep()
    return other.dump()


# --- retention makes missing digests first --------------------------------------------------------


@pytest.mark.rows("RET-03", "RET-06", "DIG-01")
def test_applying_retention_after_a_killed_sweep_distils_first_and_loses_nothing(
    space: Workspace,
) -> None:
    logs = [talk(seed) for seed in range(1, 5)]
    space.write(*logs)
    kill_before_digests(space)
    space.set_retention(raw_soft_cap_bytes=1, raw_hard_cap_bytes=1)
    plan = command(space, "store", "retention", "plan")
    assert "data_loss" not in plan.stdout
    assert "4 sessions have no digest yet: it is made before anything is evicted" in plan.stdout
    done = command(space, "store", "retention", "apply", "--yes")
    assert done.returncode == 0, done.stderr
    assert "soft 4, hard 0" in done.stdout
    assert "data_loss" not in done.stdout
    assert [digest_of(space, log).events for log in logs] == [len(log.rows) for log in logs]
    assert {found.state for found in space.sessions().values()} == {"raw_evicted"}
    assert digests_check(space)["result"] == "pass"
    space.sweep()
    assert [digest_of(space, log).events for log in logs] == [len(log.rows) for log in logs]


@pytest.mark.rows("RET-03", "RET-06", "DIG-01")
def test_what_cannot_be_distilled_is_named_as_data_loss_and_read_again(space: Workspace) -> None:
    logs = [talk(seed) for seed in (1, 2, 3)]
    space.write(*logs)
    kill_before_digests(space)
    damage_texts(space)
    space.set_retention(raw_soft_cap_bytes=1, raw_hard_cap_bytes=1)
    twin = space.store_directory.with_name("twin")
    subprocess.run(["cp", "-r", str(space.store_directory), str(twin)], check=True)

    done = command(space, "store", "retention", "apply", "--yes")
    assert done.returncode == 3
    (line,) = (text for text in done.stdout.splitlines() if text.startswith("data_loss"))
    assert line.startswith("data_loss  3 sessions, ")
    assert all(log.session_id in line for log in logs)
    assert "the next sweep reads their logs again" in done.stdout
    told = as_json(space.with_store("twin"), "store", "retention", "apply", "--yes")
    names = sorted(log.session_id for log in logs)
    assert sorted(told["retention"]["data_loss"]) == names == sorted(told["undistilled"])
    assert told["retention"]["data_loss_bytes"] > 0

    check = digests_check(space)
    assert check["result"] == "warn"
    assert all(name in check["detail"] for name in names)
    assert "sweep" in check["fix"]
    assert "raw text of 3 sessions, before it was distilled" in command(space, "status").stdout

    report = as_json(space, "sweep")
    assert report["analyzed"] == 3
    assert [digest_of(space, log).events for log in logs] == [len(log.rows) for log in logs]
    assert digests_check(space)["result"] == "pass"
    assert as_json(space, "status")["store"]["lost_sessions"] == 0
    assert space.findings() == []
    space.set_retention(raw_soft_cap_bytes=None, raw_hard_cap_bytes=None)
    assert space.sweep().events == 0  # distilled in the end, so it stays evicted


# --- read again -----------------------------------------------------------------------------------


@pytest.mark.rows("DIG-01")
def test_a_lost_session_is_read_again_as_if_nothing_had_happened(space: Workspace) -> None:
    log, other = talk(1), talk(2)
    space.write(log, other)
    space.sweep()
    wanted = space.dump()
    lose(space, log)
    assert space.session(log.session_id).event_count == len(log.rows)
    report = space.sweep()
    assert (report.ingested, report.events, report.analyzed) == (1, len(log.rows), 1)
    assert space.dump() == wanted
    assert space.session(log.session_id).event_count == len(log.rows)
    assert space.findings() == []
    assert space.sweep().ingested == 0


@pytest.mark.rows("DIG-01")
def test_growth_that_was_lost_is_added_to_the_digest_of_what_went_before(space: Workspace) -> None:
    log = talk()
    space.write(log)
    space.set_retention(raw_soft_cap_bytes=1)
    space.sweep()
    before = len(log.rows)
    grow(log)
    space.write(log)
    space.set_retention(raw_soft_cap_bytes=None, raw_hard_cap_bytes=None)
    space.sweep()
    lose(space, log)
    report = space.sweep()
    assert report.events == len(log.rows) - before
    assert digest_of(space, log).events == len(log.rows)
    assert space.session(log.session_id).event_count == len(log.rows)
    assert digests_check(space)["result"] == "pass"


def test_a_session_in_two_files_is_read_again_once(space: Workspace) -> None:
    log = talk()
    (path,) = space.write(log)
    path.with_name("copy.jsonl").write_bytes(path.read_bytes())
    space.sweep()
    wanted = space.dump()
    lose(space, log)
    space.sweep()
    assert space.dump() == wanted
    assert space.findings() == []


def test_a_log_that_grew_since_gives_the_old_part_and_the_new(space: Workspace) -> None:
    log = talk()
    space.write(log)
    space.sweep()
    lose(space, log)
    grow(log)
    space.write(log)
    space.sweep()
    assert space.dump() == undisturbed(space)
    assert space.session(log.session_id).event_count == len(log.rows)


def test_a_newer_parser_reads_it_again_too(space: Workspace) -> None:
    log = talk()
    space.write(log)
    space.sweep()
    lose(space, log)
    db = apsw.Connection(str(space.store_directory / "store.db"))
    db.execute("UPDATE evicted_event SET fingerprint = fingerprint + 1")  # as another parser had it
    db.close()
    claude = space.adapters["claude"]
    newer = msgspec.structs.replace(claude, parser_version=claude.parser_version + 1)
    space.adapters = {**space.adapters, "claude": newer}
    space.sweep()
    assert space.session(log.session_id).event_count == len(log.rows)
    assert digest_of(space, log).events == len(log.rows)
    with space.store() as store:
        assert store.undistilled() == []


def test_what_a_rewritten_log_had_dropped_before_is_not_lost(space: Workspace) -> None:
    log = talk()
    space.write(log)
    space.sweep()
    log.rows = log.rows[:-1]
    log.say("something else")
    space.write(log)
    assert space.sweep().superseded == 1
    lose(space, log)
    space.sweep()
    assert digests_check(space)["result"] == "pass"
    assert space.session(log.session_id).event_count == len(log.rows)


def test_an_import_brings_a_lost_session_back(space: Workspace, tmp_path: Path) -> None:
    log = talk()
    (path,) = space.write(log)
    space.sweep()
    archive = str(tmp_path / "archive.jsonl")
    assert command(space, "store", "export", archive).returncode == 0
    lose(space, log)
    path.unlink()
    assert command(space, "store", "import", archive).returncode == 0
    assert digest_of(space, log).events == len(log.rows)
    assert len(space.events(log.session_id)) == len(log.rows)
    assert digests_check(space)["result"] == "pass"


# --- where the log is gone ------------------------------------------------------------------------


@pytest.mark.rows("DIG-01")
def test_a_loss_whose_log_is_gone_stays_named_and_gets_no_empty_digest(space: Workspace) -> None:
    log = talk()
    (path,) = space.write(log)
    kill_before_digests(space)
    lose(space, log)
    path.unlink()
    assert space.sweep().analyzed == 0
    assert space.digest(log.session_id) is None
    check = digests_check(space)
    assert check["result"] == "warn"
    assert log.session_id in check["detail"]
    assert "their logs are gone" in check["detail"]
    assert space.findings() == []


@pytest.mark.rows("DIG-01")
def test_a_log_that_tells_no_event_any_more_gives_no_empty_digest(space: Workspace) -> None:
    log = talk()
    (path,) = space.write(log)
    kill_before_digests(space)
    lose(space, log)
    title = {"type": "custom-title", "customTitle": "build", "sessionId": log.session_id}
    path.write_text(json.dumps(title) + "\n", encoding="utf-8")
    space.sweep()
    assert space.digest(log.session_id) is None
    assert space.session(log.session_id).state == "raw_evicted"
    assert space.session(log.session_id).event_count == len(log.rows)
    assert digests_check(space)["result"] == "warn"


def test_what_is_left_of_a_log_does_not_replace_a_digest_that_knows_more(space: Workspace) -> None:
    log = talk()
    (path,) = space.write(log)
    space.sweep()
    digest = digest_of(space, log)
    lose(space, log)
    path.write_text(json.dumps(log.rows[0]) + "\n", encoding="utf-8")
    space.sweep()
    assert digest_of(space, log) == digest
    assert space.session(log.session_id).state == "analyzed"
    with space.store() as store:
        (left,) = store.undistilled()
    assert (left.external_id, left.lost_events) == (log.session_id, len(log.rows) - 1)
    assert left.paths == (str(path),)


# --- stores of an earlier version -----------------------------------------------------------------


def lost_long_ago(space: Workspace, empty: ClaudeLog, none: ClaudeLog) -> None:
    """What an earlier version left: it read nothing again, and made digests of no events."""
    lose(space, empty)
    lose(space, none)
    first, second = (space.session(log.session_id).id for log in (empty, none))
    db = apsw.Connection(str(space.store_directory / "store.db"))
    db.execute(
        "UPDATE digest SET body = json_set(body, '$.events', 0) WHERE session_id = ?", (first,)
    )
    db.execute("DELETE FROM digest WHERE session_id = ?", (second,))
    db.execute("UPDATE session_source SET evicted_to = 1000000")
    db.execute("INSERT INTO evicted_digest SELECT session_id, body FROM digest")
    for path in space.files():
        found = os.stat(path)
        db.execute(
            "UPDATE source SET size = ?, read_to = ? WHERE path = ?",
            (found.st_size, found.st_size, str(path)),
        )
    db.close()
    back_to_version_11(space.store_directory)


@pytest.mark.rows("DIG-01")
def test_losses_of_an_earlier_version_are_read_again(space: Workspace) -> None:
    empty, none = talk(1), talk(2)
    space.write(empty, none)
    space.sweep()
    wanted = space.dump()
    lost_long_ago(space, empty, none)
    assert space.sweep().analyzed == 2
    assert space.dump() == wanted
    assert space.findings() == []
    assert digests_check(space)["result"] == "pass"


@pytest.mark.rows("DIG-01")
def test_losses_of_an_earlier_version_whose_logs_are_gone_are_named(space: Workspace) -> None:
    empty, none = talk(1), talk(2)
    paths = space.write(empty, none)
    space.sweep()
    lost_long_ago(space, empty, none)
    for path in paths:
        path.unlink()
    space.sweep()
    assert [space.digest(log.session_id) for log in (empty, none)] == [None, None]
    check = digests_check(space)
    assert check["result"] == "warn"
    assert all(log.session_id in check["detail"] for log in (empty, none))
    assert space.findings() == []


@pytest.mark.rows("DIG-01")
def test_a_session_without_a_digest_is_named_whyever_it_has_none(space: Workspace) -> None:
    log, other = talk(1), talk(2)
    space.write(log, other)
    space.sweep()
    db = apsw.Connection(str(space.store_directory / "store.db"))
    db.execute("DELETE FROM digest WHERE session_id = ?", (space.session(log.session_id).id,))
    db.close()
    check = digests_check(space)
    assert check["result"] == "warn"
    assert log.session_id in check["detail"]
    assert other.session_id not in check["detail"]
