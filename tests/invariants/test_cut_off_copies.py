"""A backup or a restore may be killed at any operation: what is there afterwards is whole."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.invariants.sizes import SIZES, record

from session_memory.testing.workspace import Workspace

REPOSITORY = Path(__file__).parents[2]


@pytest.mark.rows("BAK-03", "BAK-04")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="the killer forks")
@pytest.mark.parametrize("work", ["backup", "replace", "restore"])
def test_killed_at_any_operation_a_copy_is_whole_or_absent(tmp_path: Path, work: str) -> None:
    given = [str(tmp_path / "space"), work, str(SIZES.cut_copies), str(SIZES.seed)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.invariants.copying", *given],
        env=Workspace(tmp_path).environ(),
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=600 + 20 * SIZES.cut_copies,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    record(f"killed, {work}", **{**result, "problems": len(result["problems"])}, seed=SIZES.seed)
    assert result["problems"] == []
    assert result["kills"] >= SIZES.cut_copies
