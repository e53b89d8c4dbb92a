"""What hooks leave behind about sessions that were told does not pile up."""

from __future__ import annotations

import os
from pathlib import Path

from session_memory.worker.injection_pages import MARK_LIFETIME_MS, drop_marks

NOW = 1_794_771_675_929


def test_marks_of_sessions_that_never_ended_go_after_a_week(tmp_path: Path) -> None:
    folder = tmp_path / "told"
    folder.mkdir()
    for name, age in (("old", MARK_LIFETIME_MS + 1_000), ("young", MARK_LIFETIME_MS - 1_000)):
        (folder / name).touch()
        os.utime(folder / name, times=((NOW - age) / 1000, (NOW - age) / 1000))
    drop_marks(tmp_path, NOW)
    assert [path.name for path in folder.iterdir()] == ["young"]
