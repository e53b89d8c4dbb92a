"""A fleet measures what the local command measures: before and after, and the arms of a trial."""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from tests.e2e.loop_scene import HOUR, LoopDesk
from tests.fleet.inline import exported, locally, mined

from session_memory.atomic_files import replace_file
from session_memory.core.loop.catalog import Catalog, Pattern, PatternVersion
from session_memory.core.loop.effects import Effect
from session_memory.core.loop.givings import Given
from session_memory.core.loop.guards import GuardRecord
from session_memory.core.loop.patterns import Candidate
from session_memory.core.loop.trials import section_id
from session_memory.core.spool import SpoolRecord
from session_memory.curate.catalog import read_catalog, write_patterns
from session_memory.detect.run import DetectQuery
from session_memory.fleet import records
from session_memory.fleet.dataset import Dataset
from session_memory.fleet.detect import Mined
from session_memory.fleet.export import export_store
from session_memory.fleet.measure import Measured, measure_all
from session_memory.measure.run import MeasureInput
from session_memory.settings import Measure
from session_memory.store import open_store
from session_memory.store.given_files import GIVEN, read_given
from session_memory.store.guard_files import change_guards
from session_memory.store.json_files import encode_rows
from session_memory.store.trial_files import read_trials
from session_memory.testing.command import run_command
from session_memory.testing.workspace import NOW, Workspace
from session_memory.worker.measurement import measure_all as measure_locally


@pytest.fixture
def desk(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[LoopDesk]:
    before = os.umask(0o022)  # the program sets its umask; no other test may inherit that
    monkeypatch.setattr(records, "PART", 10)
    yield LoopDesk(tmp_path, capsys, monkeypatch)
    os.umask(before)


POLICY = Measure(min_effect=0.5)


def both(desk: LoopDesk, folder: Path) -> tuple[list[Effect], Measured]:
    with open_store(str(desk.data), desk.now) as store:
        local = measure_locally(store, desk.data, POLICY, desk.now, keep=False)
        export_store(store, Dataset(str(folder)), events=False, signals=False)
    given = read_given(desk.data), read_trials(desk.data)
    material = MeasureInput(read_catalog(desk.data).patterns, *given)
    return local, measure_all(mined(folder), material, POLICY, desk.now)


@pytest.mark.rows("FLT-01")
def test_before_and_after_is_the_same(desk: LoopDesk, tmp_path: Path) -> None:
    shop, control = desk.repository("shop"), desk.repository("control")
    for root in (shop, control):
        desk.sessions(root, 20, {"deploy": 10, "plan": 10}, after=False)
    names = desk.learn()
    desk.run("rules", "approve", names["deploy"])
    desk.run("rules", "distribute")
    desk.sessions(shop, 20, {"plan": 10}, after=True)
    local, fleet = both(desk, tmp_path / "parquet")
    assert [one.method for one in local] == ["before_after"] and fleet.damaged == ()
    assert msgspec.json.encode(fleet.effects) == msgspec.json.encode(local)


def catalog_of(candidates: list[Candidate]) -> dict[str, Pattern]:
    """Everything that was detected, as if it had been approved."""
    approved = PatternVersion(
        1, 1, "approved", "approve", "user", 1, "Mind this.", distribution_ready=True
    )
    return {
        one.id: Pattern(one.id, one.kind, one.type, one.locus, approved.text, (approved,))
        for one in candidates
    }


@pytest.mark.shared
@pytest.mark.rows("FLT-01")
@pytest.mark.parametrize("flavor", ["codex", "copilot", "pi"])
def test_genuine_logs_are_measured_the_same(
    shared: Path, tmp_path: Path, flavor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(records, "PART", 10)
    space = Workspace(tmp_path / "space")
    space.paths[flavor] = (str(shared / "logs" / flavor),)
    space.sweep()
    data, folder = space.store_directory, tmp_path / "parquet"
    times: dict[str, list[int]] = {}
    for one in space.sessions().values():
        times.setdefault(one.project_key or "", []).append(one.ended_at or 0)
    found = [one for one in locally(space, DetectQuery(1)) if one.repos]
    given = [
        Given(one.id, 1, repo, sorted(times[repo])[len(times[repo]) // 2])  # in the middle of it
        for one in found
        for repo in one.repos
    ]
    patterns = catalog_of(found)
    write_patterns(data, Catalog(patterns), patterns)
    replace_file(data / GIVEN, encode_rows(given))
    policy = Measure(min_effect=0.5, window_days=3650)
    with open_store(str(data), NOW) as store:
        local = measure_locally(store, data, policy, NOW, keep=False)
        export_store(store, Dataset(str(folder)), events=False, signals=False)
    material = MeasureInput(read_catalog(data).patterns, read_given(data))
    fleet = measure_all(mined(folder), material, policy, NOW)
    assert msgspec.json.encode(fleet.effects) == msgspec.json.encode(local)
    assert len(local) == len(patterns) > 3
    assert any(one.groups["before"].recurred for one in local)


@pytest.mark.rows("FLT-01")
def test_the_arms_of_a_trial_are_the_same(desk: LoopDesk, tmp_path: Path) -> None:
    shop = desk.repository("shop")
    desk.sessions(shop, 6, {"deploy": 6}, after=False)
    name = desk.learn()["deploy"]
    desk.run("rules", "approve", name)
    desk.wire()
    desk.run("rules", "trial", "start", name)
    told: list[SpoolRecord] = []

    def meets(flavor: str, session: str) -> list[str]:
        arm = {"given" if len(told) % 2 else "held": [section_id(name)]}
        record = {"id": session, "at": desk.now + HOUR, "flavor": flavor, "session": session}
        told.append(
            msgspec.convert({**record, **arm, "v": 1, "event": "session_start"}, SpoolRecord)
        )
        return ["deploy"] if "held" in arm else []

    for _ in range(30):
        desk.session(shop, desk.next_start(), meets)
    desk.run("sweep")
    with open_store(str(desk.data), desk.now) as store:
        store.live.note(told)
    local, fleet = both(desk, tmp_path / "parquet")
    assert [one.method for one in local] == ["trial"]
    assert msgspec.json.encode(fleet.effects) == msgspec.json.encode(local)
    assert sum(local[0].left_out.values()) < 30  # some took part


@pytest.mark.rows("FLT-01")
def test_rules_given_by_guards_alone_are_named(
    space: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from session_memory.cli import fleet

    @contextmanager
    def running(*_: object) -> Generator[Mined]:
        yield mined(tmp_path / "parquet")

    exported(space, tmp_path / "parquet")
    data = Path(os.environ["SESSION_MEMORY_HOME"]) / "data"
    patterns = catalog_of(locally(space, DetectQuery(1))[:2])
    known, _ = patterns
    write_patterns(data, Catalog(patterns), patterns)
    monkeypatch.setattr(fleet, "_running", running)
    assert "guards" not in run_command("fleet", "measure").stderr
    change_guards(data, lambda _: GuardRecord(given=(Given(known, 1, "repo", 1),)))
    done = run_command("fleet", "measure", "--json")
    assert (done.returncode, json.loads(done.stdout)["effects"]) == (0, [])
    assert "1 rules given by guards alone" in done.stderr
