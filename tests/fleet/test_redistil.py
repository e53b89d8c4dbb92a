"""A fleet that distils again comes to what the sweep came to."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fleet.inline import Inline, by_fleet, exported

from session_memory.fleet.dataset import TABLES, Dataset
from session_memory.fleet.redistil import redistil_all
from session_memory.testing.workspace import Workspace


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
