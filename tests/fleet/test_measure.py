"""A fleet measures what the local command measures: before and after, and the arms of a trial."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.e2e.loop_scene import HOUR, LoopDesk
from tests.fleet.inline import mined

from session_memory.core.loop.effects import Effect
from session_memory.core.loop.trials import section_id
from session_memory.core.spool import SpoolRecord
from session_memory.curate.catalog import read_catalog
from session_memory.fleet import records
from session_memory.fleet.dataset import Dataset
from session_memory.fleet.export import export_store
from session_memory.fleet.measure import Measured, measure_all
from session_memory.measure.run import MeasureInput
from session_memory.settings import Measure
from session_memory.store import open_store
from session_memory.store.given_files import read_given
from session_memory.store.trial_files import read_trials
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
