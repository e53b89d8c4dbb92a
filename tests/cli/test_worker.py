"""`worker run` says what it logs."""

from __future__ import annotations

import pytest
from tests.cli.test_progress_verbose import space, written

from session_memory.paths import find_paths
from session_memory.testing.workspace import Workspace

__all__ = ["space"]


@pytest.mark.rows("ING-17")
def test_the_worker_says_what_it_logs(space: Workspace) -> None:
    written(space, 1)
    spool = find_paths(space.environ()).with_store(space.store_directory).state / "spool"
    spool.mkdir(parents=True)
    (spool / "broken.json").write_text("{", encoding="utf-8")
    done = space.run("--config", str(space.write_config()), "-v", "worker", "run")
    assert "damaged_records count=1" in done.stderr
