"""A flush killed anywhere loses no entry and no context, and the next one doubles none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.rows("FLU-07", "FLU-23")
@pytest.mark.skipif(os.name == "nt", reason="forks and SIGKILL are POSIX")
@pytest.mark.parametrize("kind", ["own", "other"])
def test_a_flush_killed_at_any_step_ends_as_if_it_had_not_been(tmp_path: Path, kind: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.journal.cut_off", str(tmp_path / "."), kind],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["faults"] == []
    assert told["kills"] > 15
