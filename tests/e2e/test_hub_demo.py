"""`make hub-demo`: two homes on a real hub find each other's cure; what is forgotten is gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from session_memory.testing.postgres_server import postgres_binaries
from session_memory.testing.s3_server import s3_binary

ROOT = Path(__file__).resolve().parents[2]
MISSING = postgres_binaries() is None or s3_binary() is None


@pytest.mark.skipif(
    MISSING and os.environ.get("CI") != "true",
    reason="PostgreSQL or the S3 server is not installed: `make test-tools` installs them",
)
@pytest.mark.rows("TEA-12")
def test_two_homes_find_each_others_cure_on_a_real_hub() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "hub_demo.py"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "worked for 1 of 1 person: ada" in done.stdout
    assert "0 rows, 0 index entries, 0 stored texts and 0 data keys left" in done.stdout
    assert "0 items of 0 people" in done.stdout
    assert "all is stopped" in done.stdout
