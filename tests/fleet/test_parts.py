"""A fleet answers what the local commands answer, from any division of the sessions."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.fleet.inline import Inline, by_fleet, exported, locally, mined

from session_memory.detect.run import DetectQuery
from session_memory.fleet import parts
from session_memory.fleet.dataset import Dataset
from session_memory.fleet.detect import FleetQuery
from session_memory.fleet.redistil import redistil_all
from session_memory.testing.workspace import Workspace


@pytest.mark.rows("FLT-01")
@pytest.mark.parametrize("least", [None, 1, 3])
def test_a_fleet_detects_what_the_local_command_detects(
    space: Workspace, tmp_path: Path, least: int | None
) -> None:
    done = exported(space, tmp_path / "parquet")
    assert done.parts > 3 and done.sessions == len(space.sessions())
    expected = locally(space, DetectQuery(least))
    found = by_fleet(tmp_path / "parquet", FleetQuery(least))
    assert msgspec.json.encode(found) == msgspec.json.encode(expected)
    assert len(found) > 3


@pytest.mark.shared
@pytest.mark.rows("FLT-01")
@pytest.mark.parametrize("flavor", ["codex", "grok", "pi"])
def test_genuine_logs_give_the_same_answers(shared: Path, tmp_path: Path, flavor: str) -> None:
    space = Workspace(tmp_path / "space")
    space.paths[flavor] = (str(shared / "logs" / flavor),)
    assert space.sweep().events > 40
    exported(space, tmp_path / "parquet", events=True)
    assert by_fleet(tmp_path / "parquet", FleetQuery(1)) == locally(space, DetectQuery(1))
    folders = str(tmp_path / "parquet"), str(tmp_path / "again")
    done = redistil_all(Inline(), *folders, everything=True)
    assert done.distilled > 0 and done.changed == 0


@pytest.mark.rows("FLT-02")
def test_a_better_miner_mines_everything_again(
    space: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported(space, tmp_path / "parquet")
    first = mined(tmp_path / "parquet").mining
    monkeypatch.setattr(parts, "MINER_VERSION", 99)
    assert mined(tmp_path / "parquet").mining.mined == first.sessions


@pytest.mark.rows("FLT-03")
def test_a_damaged_file_is_named_and_stops_nothing(space: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "parquet"
    exported(space, folder)
    whole = mined(folder).mining
    victim = sorted((folder / "digests").iterdir())[1]
    victim.write_bytes(victim.read_bytes()[:-40])
    mining = mined(folder).mining
    assert [text.partition(":")[0] for text in mining.damaged] == [f"digests/{victim.name}"]
    assert 0 < mining.sessions < whole.sessions
    assert len(by_fleet(folder)) > 0


@pytest.mark.rows("FLT-03")
def test_signals_that_are_damaged_are_mined_again(space: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "parquet"
    exported(space, folder)
    expected = by_fleet(folder)
    for victim in (folder / "signals").iterdir():
        victim.write_bytes(b"PAR1 nothing")
    assert by_fleet(folder) == expected


@pytest.mark.rows("FLT-03")
def test_a_digest_that_cannot_be_read_is_left_out_alone(space: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "parquet"
    exported(space, folder)
    dataset = Dataset(str(folder))
    part = dataset.parts("digests")[0]
    rows = dataset.read("digests", part).to_pylist()
    rows[0] |= {"digest": '{"flavor": 3}', "digest_hash": "0" * 32}
    dataset.write_rows("digests", part, dataset.read("digests", part).schema, rows)
    mining = mined(folder).mining
    assert len(mining.damaged) == 1 and f"session {rows[0]['number']}" in mining.damaged[0]
    assert mining.sessions == len(space.sessions()) - 1
