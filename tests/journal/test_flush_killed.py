"""A flush killed anywhere loses no entry and no context, and the next one doubles none."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.journal.flush_journal import MINUTE, Bench

from session_memory.errors import StoreError
from session_memory.testing.faults import OPERATIONS, Counter, CountingOs


def kills(program: str, *words: str) -> int:
    """How often a program that kills itself at every step did so, nothing being lost by it."""
    done = subprocess.run(
        [sys.executable, "-m", program, *words],
        cwd=Path(__file__).resolve().parents[2],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["faults"] == []
    return answer["kills"]


@pytest.mark.rows("FLU-07", "FLU-23")
@pytest.mark.skipif(os.name == "nt", reason="forks and SIGKILL are POSIX")
@pytest.mark.parametrize("kind", ["own", "other"])
def test_a_flush_killed_at_any_step_ends_as_if_it_had_not_been(tmp_path: Path, kind: str) -> None:
    assert kills("tests.journal.killed_flush", str(tmp_path / "."), kind) > 15


@pytest.mark.rows("KB-08")
@pytest.mark.skipif(os.name == "nt", reason="forks and SIGKILL are POSIX")
def test_a_compile_killed_at_any_step_ends_as_if_it_had_not_been(tmp_path: Path) -> None:
    assert kills("tests.journal.killed_compile", str(tmp_path / ".")) > 60


@pytest.mark.rows("FLU-23")
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO, errno.EMFILE])
def test_a_disk_that_fails_at_any_operation_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    nth, failing = 0, True
    while failing:
        nth += 1
        (tmp_path / str(nth)).mkdir()
        bench = Bench(tmp_path / str(nth) / "data")
        context = bench.excerpt("what was said")
        counter = Counter(nth, OPERATIONS)
        with monkeypatch.context() as patch:
            for module in ("atomic_files", "paths", "store.lock"):
                patch.setattr(f"session_memory.{module}.os", CountingOs(counter, code))
            bench.says("entry")
            try:
                bench.flush(context)
            except (OSError, StoreError):
                assert counter.failed
        failing = counter.failed
        assert context.exists() or len(bench.entries()) == 1
        if context.exists():
            bench.says("entry")
            bench.now += 2 * MINUTE
            bench.flush(context)
        assert [entry.content for entry in bench.entries()] == ["entry"], nth
        assert not context.exists()
    assert nth > 10
