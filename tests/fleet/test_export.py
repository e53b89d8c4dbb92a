"""Exporting again removes what was forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fleet.conftest import troubled
from tests.fleet.inline import exported

from session_memory.fleet.dataset import Dataset
from session_memory.testing.workspace import Workspace


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
