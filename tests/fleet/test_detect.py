"""A fleet finds what recurs, by the filters of the local command, and mines only what is new."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fleet.conftest import troubled
from tests.fleet.inline import by_fleet, exported, locally, mined

from session_memory.detect.run import DetectQuery
from session_memory.fleet.detect import FleetQuery
from session_memory.testing.workspace import Workspace


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
