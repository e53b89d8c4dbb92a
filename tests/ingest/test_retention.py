"""Digests follow their sessions, and raw text leaves by budget, never before its digest."""

from __future__ import annotations

import os
from pathlib import Path

import apsw
import pytest

from session_memory.adapters.claude.log_builder import START, ClaudeLog, tokens
from session_memory.core.retention.estimate import EVENT_ROW_BYTES, estimate_raw_bytes
from session_memory.core.schema import Digest
from session_memory.ingest.report import SweepReport
from session_memory.ingest.retention import apply_plan, make_plan
from session_memory.settings import Retention
from session_memory.testing.faults import Stopped, StoppingStore
from session_memory.testing.workspace import DAY_MS, Workspace

EVERYTHING = 1
"""A soft cap that nothing fits into."""


def talk(seed: int = 1, *, day: int = 0, turns: int = 2) -> ClaudeLog:
    log = ClaudeLog(seed, start=START + day * DAY_MS)
    log.prompt(f"please fix the build of {seed}")
    for turn in range(turns):
        log.run(f"make target-{turn}", f"target {turn} built " + "x" * 500)
    log.say("it builds", usage=tokens(20, 10))
    return log


def grow(log: ClaudeLog, number: int) -> None:
    log.prompt(f"one more thing: {number}")
    log.run(f"make more-{number}", "error: it broke", exit_code=2)


def digest_of(space: Workspace, log: ClaudeLog) -> Digest:
    digest = space.digest(log.session_id)
    assert digest is not None
    return digest


def states(space: Workspace) -> dict[str, str]:
    return {name: found.state for name, found in space.sessions().items()}


# --- digests --------------------------------------------------------------------------------------


@pytest.mark.rows("DIG-03")
def test_a_session_that_grows_gets_a_new_digest(space: Workspace) -> None:
    log = talk()
    space.write(log)
    assert space.sweep().analyzed == 1
    before = digest_of(space, log)
    grow(log, 1)
    space.write(log)
    assert space.sweep().analyzed == 1
    after = digest_of(space, log)
    assert after.source_fingerprint != before.source_fingerprint
    assert (before.turns, after.turns) == (1, 2)


@pytest.mark.rows("DIG-03")
def test_a_session_that_grew_counts_as_unanalyzed_until_its_digest_is_made(
    space: Workspace,
) -> None:
    log = talk()
    space.write(log)
    space.sweep()
    grow(log, 1)
    space.write(log)
    with pytest.raises(Stopped):
        space.sweep(open_as=lambda store: StoppingStore(store, "save_digest"))
    assert states(space) == {log.session_id: "captured"}
    with space.store() as store:
        assert [found.analyzed for found in store.raw_sessions()] == [False]
    assert space.sweep().analyzed == 1
    assert states(space) == {log.session_id: "analyzed"}


@pytest.mark.rows("DIG-03")
def test_growth_after_eviction_is_merged_twice_without_double_counting(
    space: Workspace, tmp_path: Path
) -> None:
    log = talk()
    space.write(log)
    space.set_retention(raw_soft_cap_bytes=EVERYTHING)
    space.sweep()
    assert states(space) == {log.session_id: "raw_evicted"}
    whole = Workspace(tmp_path / "whole")
    for number in (1, 2):
        grow(log, number)
        space.write(log)
        assert space.sweep().analyzed == 1
        assert space.events(log.session_id) == []
        whole.write(log)
        whole.sweep()
        merged, made_at_once = digest_of(space, log), digest_of(whole, log)
        for name in ("objective", "turns", "tools", "files", "events", "first_at", "last_at"):
            assert getattr(merged, name) == getattr(made_at_once, name), name
        assert merged.cost == made_at_once.cost
        assert [run.command for run in merged.commands] == [
            run.command for run in made_at_once.commands
        ]
    assert space.session(log.session_id).event_count == len(log.rows)


@pytest.mark.rows("DIG-04")
def test_a_digest_and_its_session_outlive_the_raw_text(space: Workspace) -> None:
    log = talk()
    space.write(log)
    space.sweep()
    session, digest = space.session(log.session_id), digest_of(space, log)
    assert digest.commands
    space.set_retention(raw_soft_cap_bytes=EVERYTHING)
    report = space.sweep()
    assert report.retention.soft == 1
    assert space.events(log.session_id) == []
    assert digest_of(space, log) == digest
    left = space.session(log.session_id)
    assert left.state == "raw_evicted"
    for name in ("title", "cost", "started_at", "project_key", "event_count"):
        assert getattr(left, name) == getattr(session, name), name
    assert space.findings() == []


@pytest.mark.rows("DIG-05")
@pytest.mark.parametrize("touched", [False, True], ids=["unchanged", "touched"])
def test_the_unchanged_log_of_an_evicted_session_brings_nothing_back(
    space: Workspace, touched: bool
) -> None:
    log = talk()
    (path,) = space.write(log)
    space.set_retention(raw_soft_cap_bytes=EVERYTHING)
    space.sweep()
    digest = digest_of(space, log)
    space.set_retention(raw_soft_cap_bytes=None, raw_hard_cap_bytes=None)
    if touched:
        os.utime(path, ns=(1, 1))
    report = space.sweep()
    assert (report.ingested, report.events) == (int(touched), 0)
    assert states(space) == {log.session_id: "raw_evicted"}
    assert space.events(log.session_id) == []
    assert digest_of(space, log) == digest
    assert space.findings() == []


@pytest.mark.rows("DIG-05")
def test_a_copy_of_an_evicted_log_brings_nothing_back(space: Workspace) -> None:
    log = talk()
    (path,) = space.write(log)
    space.set_retention(raw_soft_cap_bytes=EVERYTHING)
    space.sweep()
    digest = digest_of(space, log)
    space.set_retention(raw_soft_cap_bytes=None, raw_hard_cap_bytes=None)
    path.with_name("copy.jsonl").write_bytes(path.read_bytes())
    report = space.sweep()
    assert (report.ingested, report.events) == (1, 0)
    assert digest_of(space, log) == digest
    assert space.session(log.session_id).cost == digest.cost


# --- budget ---------------------------------------------------------------------------------------


def five(space: Workspace) -> list[ClaudeLog]:
    """Five sessions, the oldest first, stored and analyzed."""
    logs = [talk(seed, day=seed) for seed in range(1, 6)]
    space.write(*logs)
    space.sweep()
    return logs


def stop_before_digests(space: Workspace) -> None:
    """A sweep that dies when the events are stored and nothing is distilled yet."""
    with pytest.raises(Stopped):
        space.sweep(open_as=lambda store: StoppingStore(store, "unanalyzed"))


def used(space: Workspace) -> int:
    with space.store() as store:
        return store.raw_usage().raw_bytes


@pytest.mark.rows("RET-01")
def test_below_every_cap_nothing_leaves_however_old(space: Workspace) -> None:
    five(space)
    space.now += 20 * 365 * DAY_MS
    report = space.sweep()
    line = report.retention
    assert (line.freed, line.age, line.soft, line.hard) == (0, 0, 0, 0)
    assert set(states(space).values()) == {"analyzed"}


@pytest.mark.rows("RET-02")
def test_above_the_soft_cap_the_oldest_analyzed_sessions_leave(space: Workspace) -> None:
    logs = five(space)
    cap = used(space) * 7 // 10
    space.set_retention(raw_soft_cap_bytes=cap)
    report = space.sweep()
    gone = [states(space)[log.session_id] == "raw_evicted" for log in logs]
    assert gone == [True, True, False, False, False]
    assert report.retention.soft == 2
    assert report.retention.final_usage == used(space) <= cap


@pytest.mark.rows("RET-02", "RET-04")
def test_sessions_without_a_digest_stay_above_the_soft_cap_and_past_the_age(
    space: Workspace,
) -> None:
    logs = five(space)
    grow(logs[0], 1)
    space.write(logs[0])
    stop_before_digests(space)
    assert states(space)[logs[0].session_id] == "captured"
    with space.store() as store:
        late = space.now + 4000 * DAY_MS
        soft = make_plan(store, Retention(raw_soft_cap_bytes=1, raw_hard_cap_bytes=None), space.now)
        aged = make_plan(store, Retention(None, None, raw_max_age_days=30), late)
    others = [log.session_id for log in logs[1:]]
    assert [eviction.external_id for eviction in soft.evictions] == others
    assert [eviction.external_id for eviction in aged.evictions] == others


@pytest.mark.rows("RET-03")
def test_the_hard_cap_takes_sessions_without_digest_last_and_says_so(space: Workspace) -> None:
    logs = [talk(seed, day=seed) for seed in (1, 2)]
    space.write(*logs)
    stop_before_digests(space)
    assert set(states(space).values()) == {"captured"}
    space.set_retention(raw_soft_cap_bytes=1, raw_hard_cap_bytes=1)
    with space.store() as store:
        plan = make_plan(store, space.retention, space.now)
        line = apply_plan(store, plan, space.now)
    assert line.data_loss == [log.session_id for log in logs]
    assert (line.hard, line.soft) == (2, 0)
    assert line.data_loss_bytes > 0
    assert SweepReport(retention=line).needs_attention
    assert space.findings() == []


@pytest.mark.rows("RET-03")
def test_where_analyzed_sessions_suffice_nothing_is_lost(space: Workspace) -> None:
    five(space)
    space.set_retention(raw_soft_cap_bytes=1, raw_hard_cap_bytes=1)
    line = space.sweep().retention
    assert (line.soft, line.hard, line.data_loss, line.data_loss_bytes) == (5, 0, [], 0)


@pytest.mark.rows("RET-05")
def test_above_the_distilled_cap_there_is_an_alert_and_nothing_is_deleted(
    space: Workspace,
) -> None:
    logs = five(space)
    digests = [digest_of(space, log) for log in logs]
    space.set_retention(distilled_cap_bytes=1)
    line = space.sweep().retention
    assert len(line.alerts) == 1
    assert "distilled_cap_bytes" in line.alerts[0]
    assert [digest_of(space, log) for log in logs] == digests


@pytest.mark.rows("RET-06")
@pytest.mark.parametrize("share", range(0, 11, 2))
def test_whatever_the_cap_an_evicted_session_has_its_digest(space: Workspace, share: int) -> None:
    logs = [talk(seed, day=seed, turns=seed) for seed in range(1, 6)]
    space.write(*logs[:3])
    space.sweep()
    cap = max(1, used(space) * share // 10)
    space.set_retention(raw_soft_cap_bytes=cap, raw_hard_cap_bytes=cap)
    space.write(*logs[3:])
    line = space.sweep().retention
    for name, state in states(space).items():
        assert space.digest(name) is not None or name in line.data_loss
        assert state in ("analyzed", "raw_evicted")
    assert line.data_loss == []


@pytest.mark.rows("RET-07", "RET-08")
def test_the_retention_line_measures_what_is_left(space: Workspace) -> None:
    five(space)
    before = sum(path.stat().st_size for path in space.store_directory.rglob("*.seg"))
    space.set_retention(raw_soft_cap_bytes=used(space) // 2)
    line = space.sweep().retention
    on_disk = sum(path.stat().st_size for path in space.store_directory.rglob("*.seg"))
    assert line.freed == before - on_disk > 0
    with space.store() as store:
        shares = sum(found.raw_bytes for found in store.raw_sessions())
        events = store.info()
    assert line.final_usage >= on_disk + EVENT_ROW_BYTES
    # each share is rounded up by itself, so together they may exceed the total by one each
    assert 0 <= shares - line.final_usage <= events.sessions
    assert (line.age, line.soft > 0, line.hard) == (0, True, 0)


@pytest.mark.rows("RET-08")
def test_final_usage_is_segment_bytes_and_the_documented_estimate(space: Workspace) -> None:
    five(space)
    line = space.sweep().retention
    on_disk = sum(path.stat().st_size for path in space.store_directory.rglob("*.seg"))
    db = apsw.Connection(str(space.store_directory / "store.db"))
    (events,) = db.execute("SELECT count(*) FROM event").fetchone()
    (indexed,) = db.execute("SELECT sum(index_bytes) FROM session").fetchone()
    db.close()
    assert line.final_usage == estimate_raw_bytes(on_disk, events, indexed)


@pytest.mark.rows("RET-10")
def test_a_death_between_row_and_file_leaves_an_orphan_that_the_next_sweep_removes(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = talk()
    space.write(log)
    space.sweep()
    (segment,) = space.store_directory.rglob("*.seg")
    space.set_retention(raw_soft_cap_bytes=EVERYTHING)
    grow(log, 1)
    space.write(log)  # something to read, so that the sweep is one that can be cut off

    def die(_db: object, _segments: object) -> int:
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr("session_memory.store.sqlite.retention.remove_doomed", die)
        with pytest.raises(Stopped):
            space.sweep()
    assert states(space) == {log.session_id: "raw_evicted"}
    assert segment.exists()
    report = space.sweep()
    assert report.orphans_removed == 2
    assert list(space.store_directory.rglob("*.seg")) == []
    assert space.findings() == []


@pytest.mark.rows("RET-10")
def test_an_eviction_without_new_logs_that_was_cut_off_is_cleaned_up_too(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = talk()
    space.write(log)
    space.sweep()
    space.set_retention(raw_soft_cap_bytes=EVERYTHING)

    def die(_db: object, _segments: object) -> int:
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr("session_memory.store.sqlite.retention.remove_doomed", die)
        with pytest.raises(Stopped):
            space.sweep()
    report = space.sweep()
    assert report.orphans_removed == 1
    assert list(space.store_directory.rglob("*.seg")) == []
    assert space.findings() == []
