"""A fleet answers what the local commands answer, from any division of the sessions."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from tests.fleet.conftest import troubled
from tests.fleet.inline import Inline, by_fleet, exported, locally, mined

from session_memory.detect.run import DetectQuery
from session_memory.fleet import parts
from session_memory.fleet.dataset import TABLES, Dataset
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


@pytest.mark.rows("FLT-01")
def test_filters_are_those_of_the_local_command(space: Workspace, tmp_path: Path) -> None:
    exported(space, tmp_path / "parquet")
    sessions = [one for one in space.sessions().values() if one.project_key and one.ended_at]
    project, since = str(sessions[0].project_key), sorted(one.ended_at or 0 for one in sessions)[5]
    for query in ((1, None, project), (1, since, None), (None, since, project)):
        assert by_fleet(tmp_path / "parquet", FleetQuery(*query)) == locally(
            space, DetectQuery(*query)
        )
    assert by_fleet(tmp_path / "parquet", FleetQuery(1, since)) != by_fleet(
        tmp_path / "parquet", FleetQuery(1)
    )


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
def test_a_second_run_mines_only_what_is_new(space: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "parquet"
    exported(space, folder)
    first = mined(folder).mining
    assert first.mined == first.sessions == len(space.sessions())
    again = mined(folder).mining
    assert (again.mined, again.written, again.sessions) == (0, 0, first.sessions)
    space.write(troubled(90))
    space.sweep()
    exported(space, folder)
    assert mined(folder).mining.mined == 1
    assert by_fleet(folder, FleetQuery(1)) == locally(space, DetectQuery(1))


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


@pytest.mark.rows("FLT-04")
def test_distilling_again_gives_what_the_sweep_gave(space: Workspace, tmp_path: Path) -> None:
    exported(space, tmp_path / "parquet", events=True)
    folders = str(tmp_path / "parquet"), str(tmp_path / "again")
    done = redistil_all(Inline(), *folders, everything=True)
    assert (done.distilled, done.changed, done.damaged) == (len(space.sessions()), 0, ())
    for table in set(TABLES) - {"signals"}:
        old, new = (Dataset(folder) for folder in folders)
        assert old.parts(table) == new.parts(table) != []
        for part in old.parts(table):
            assert new.read(table, part).equals(old.read(table, part)), table
    assert by_fleet(tmp_path / "again") == by_fleet(tmp_path / "parquet")
    untouched = redistil_all(Inline(), *folders, everything=False)
    assert untouched.distilled == 0


@pytest.mark.rows("FLT-05")
def test_exporting_again_removes_what_was_forgotten(space: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "parquet"
    exported(space, folder, signals=True, events=True)
    gone = space.session(troubled(25).session_id)
    space.forget(sessions=(gone.external_id,))
    exported(space, folder, signals=True, events=True)
    for table in ("sessions", "digests", "signals", "events"):
        dataset = Dataset(str(folder))
        numbers = [
            number
            for part in dataset.parts(table)
            for number in dataset.read(table, part, ["number"])["number"].to_pylist()
        ]
        assert gone.id not in numbers and len(numbers) == len(space.sessions())
    for file in folder.rglob("*"):
        assert file.is_dir() or file.stat().st_mode & 0o077 == 0
