"""Many processes work on one store at once, and nobody sees anything half done."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.invariants.sizes import SIZES, record

from session_memory.testing.workspace import Workspace


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the crowd is forked")
def test_a_crowd_of_processes_leaves_a_whole_store_and_no_reader_without_its_text(
    tmp_path: Path,
) -> None:
    given = [str(tmp_path / "space"), *map(str, (SIZES.processes, SIZES.operations, SIZES.seed))]
    done = subprocess.run(
        [sys.executable, "-m", "tests.invariants.crowd", *given],
        env=Workspace(tmp_path).environ(),
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    record("crowd", **{**result, "problems": len(result["problems"])}, seed=SIZES.seed)
    assert result["problems"] == []
    assert result["operations"] == SIZES.processes * SIZES.operations
