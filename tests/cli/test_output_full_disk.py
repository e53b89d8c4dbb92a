"""A disk that is full where output or the report of a sweep goes is told as such."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.testing.workspace import Workspace

FULL = Path("/dev/full")


@pytest.fixture
def space(tmp_path: Path) -> Workspace:
    space = Workspace(tmp_path)
    log = ClaudeLog(1)
    log.prompt("abcd and zebrawood")
    log.say("done")
    space.write(log)
    return space


def run(space: Workspace, *words: str) -> subprocess.CompletedProcess[str]:
    return space.run("--config", str(space.write_config()), *words)


@pytest.mark.rows("LIM-01")
@pytest.mark.skipif(not FULL.exists(), reason="no device here that is always full")
@pytest.mark.parametrize("words", [("sweep",), ("sweep", "--json"), ("--version",)])
def test_output_without_room_is_an_error_and_the_sweep_is_done(
    space: Workspace, words: tuple[str, ...]
) -> None:
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "session_memory", *words],
            env={**space.environ(), "CLAUDE_CONFIG_DIR": str(space.claude)},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1 and "No space left" in done.stderr
    assert "Traceback" not in done.stderr
    if words[0] == "sweep":
        assert "everything was stored" in done.stderr


@pytest.mark.rows("LIM-01")
def test_a_report_that_cannot_be_kept_does_not_undo_the_sweep(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("session_memory.worker.sweep.note_report", full)
    done = run(space, "sweep")
    assert done.returncode == 0
    assert "everything was stored, but not the report of this sweep: No space left" in done.stderr
    assert len(space.sessions()) == 1


@pytest.mark.rows("LIM-02")
def test_forgetting_a_short_text_says_what_it_does(space: Workspace) -> None:
    assert run(space, "sweep").returncode == 0
    short = run(space, "forget", "--text", "abc", "--dry-run").stdout
    assert '"abc" is short: these events hold it anywhere, also inside longer words' in short
    assert "is short" not in run(space, "forget", "--text", "zebrawood", "--dry-run").stdout
    refused = run(space, "forget", "--text", "ab", "--yes")
    assert refused.returncode == 8 and "at least 3 characters" in refused.stderr
