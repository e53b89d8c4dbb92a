"""Whatever changes a store may be killed at any moment, as often as fate likes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.invariants.flows import FLOWS, write_logs
from tests.invariants.sizes import SIZES, record

from session_memory.testing.workspace import Workspace

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.rows("STO-10", "RET-10")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the killer forks")
@pytest.mark.parametrize("flow", FLOWS)
def test_after_any_number_of_kills_the_work_comes_to_the_same_store(
    tmp_path: Path, flow: str
) -> None:
    given = [str(tmp_path / "space"), flow, str(SIZES.kills), str(SIZES.seed)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.invariants.killing", *given],
        env=Workspace(tmp_path).environ(),
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=600 + 10 * SIZES.kills,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    record(f"kills, {flow}", **{**result, "problems": len(result["problems"])}, seed=SIZES.seed)
    assert result["kills"] >= SIZES.kills
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
