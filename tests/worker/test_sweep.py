"""Signals are taken when a session is digested, so that asking for patterns is only counting."""

from __future__ import annotations

import json
import os
from pathlib import Path

import apsw
import pytest

from session_memory.__main__ import main
from session_memory.errors import EXIT_OK
from session_memory.ingest.last_sweep import read_last_sweep
from session_memory.paths import find_paths
from session_memory.settings.load import variable
from session_memory.store import open_store
from session_memory.store.sqlite import connection
from session_memory.testing.samples import write_samples
from session_memory.testing.workspace import Workspace
from session_memory.worker.sweep import mine_digested


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    built = Workspace(tmp_path / "space")
    write_samples(built.claude)
    monkeypatch.setenv(variable("store.path"), str(built.store_directory))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(built.claude))
    return built


def mined(space: Workspace) -> tuple[int, int]:
    """(sessions that were mined, sessions that wait for it)."""
    with open_store(str(space.store_directory), space.now) as store:
        return len(list(store.patterns.evidence())), len(store.patterns.unmined())


def test_a_sweep_leaves_nothing_to_be_mined(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sweep", "--json"]) == EXIT_OK
    assert json.loads(capsys.readouterr().out)["analyzed"] > 0
    done, waiting = mined(space)
    assert done > 0
    assert waiting == 0


def test_a_dry_run_mines_nothing(space: Workspace) -> None:
    assert main(["sweep", "--dry-run", "--json"]) == EXIT_OK
    assert not (space.store_directory / "store.db").exists()


def test_tail_mines_what_it_captures_and_writes_the_report_of_its_sweep(
    space: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["tail", "--once"]) == EXIT_OK
    assert "USER" in capsys.readouterr().out
    done, waiting = mined(space)
    assert done > 0
    assert waiting == 0
    paths = find_paths(os.environ).with_store(space.store_directory)
    last = read_last_sweep(paths.last_sweep)
    assert last is not None
    assert last.report["analyzed"] == len(last.report["digested"]) > 0


def test_a_store_that_another_process_writes_to_is_told_and_the_sweep_stands(
    space: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = space.sweep()
    monkeypatch.setattr(connection, "BUSY_TIMEOUT_MS", 1)
    other = apsw.Connection(str(space.store_directory / "store.db"))
    other.execute("BEGIN IMMEDIATE")
    assert not mine_digested(space.sweep_context(), report)
    other.execute("ROLLBACK")
    other.close()
    assert "another process is writing" in report.warnings[-1]
    assert mined(space) == (0, len(report.digested))


def test_only_what_was_digested_is_looked_at(space: Workspace) -> None:
    report = space.sweep()
    digested = report.digested
    assert mined(space) == (0, len(digested))
    report.digested = digested[:1]
    assert mine_digested(space.sweep_context(), report)
    assert mined(space) == (1, len(digested) - 1)
    report.digested = digested
    assert mine_digested(space.sweep_context(), report)
    assert mined(space) == (len(digested), 0)
