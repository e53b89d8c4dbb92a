"""A sweep may be killed at any moment, as often as fate likes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.invariants.killing import write_logs

from session_memory.testing.workspace import Workspace

KILLS = int(os.environ.get("SESSION_MEMORY_KILLS", "50"))
SEED = int(os.environ.get("SESSION_MEMORY_SEED", "1"))


@pytest.mark.rows("STO-10", "RET-10")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the killer forks")
def test_after_any_number_of_kills_a_sweep_comes_to_the_same_store(tmp_path: Path) -> None:
    program = Path(__file__).with_name("killing.py")
    done = subprocess.run(
        [sys.executable, str(program), str(tmp_path / "space"), str(KILLS), str(SEED)],
        env=Workspace(tmp_path).environ(),
        capture_output=True,
        text=True,
        check=False,
        timeout=600 + 10 * KILLS,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["kills"] >= KILLS
    assert result["problems"] == []


def test_the_command_itself_can_be_killed_and_repeated(space: Workspace) -> None:
    """One kill of the real program, once it has begun to write."""
    write_logs(space.claude)
    space.set_ingest(commit_bytes=1)
    config = str(space.write_config())
    process = space.start("--config", config, "sweep")
    database = space.store_directory / "store.db"
    while process.poll() is None and not database.exists():
        pass
    process.kill()
    process.communicate(timeout=60)
    done = space.run("--config", config, "sweep")
    assert done.returncode == 0, done.stderr
    fresh = Workspace(space.root, store="fresh")
    fresh.sweep()
    assert space.dump() == fresh.dump()
    assert space.findings() == []
