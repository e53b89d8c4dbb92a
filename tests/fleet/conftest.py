"""Sessions that recur, with sub-agents, in several parts."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.fleet.commands import run
from tests.invariants.sessions import write_flavors
from tests.servers import *  # noqa: F403  # fixtures

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.fleet import export, records
from session_memory.testing.workspace import Workspace


def troubled(seed: int) -> ClaudeLog:
    """A session in which something fails that failed before, and something that never did."""
    log = ClaudeLog(seed)
    log.prompt("always use uv, never pip, and run the tests")
    log.run("npm test", f"Error: cannot find module 'left{seed % 3}'", exit_code=1)
    log.run("npm ci", "added 3 packages")
    log.run("npm test", "12 passed")
    log.run(
        f"tool{seed} --once", f"panic: unheard of thing number {seed} in the cellar", exit_code=2
    )
    log.prompt("no, use uv instead of pip")
    log.say("done")
    return log


@pytest.fixture
def space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A swept store of all agents, exported in parts of a few sessions."""
    monkeypatch.setattr(records, "PART", 4)
    space = Workspace(tmp_path / "space")
    write_flavors(space)
    logs = [troubled(seed) for seed in range(20, 29)]
    child = logs[0].subagent("look into the other folder")
    child.run("npm test", "Error: cannot find module 'left7'", exit_code=1)
    space.write(*logs, child)
    space.sweep()
    assert export.part_name(4) != export.part_name(3)
    return space


@pytest.fixture
def home(fence: Path, tmp_path: Path) -> Path:
    """A home whose store holds sessions in which something recurs, and an export of it."""
    space = Workspace(tmp_path / "space")
    space.write(*(troubled(seed) for seed in range(20, 26)))
    space.sweep()
    (fence / "memory").mkdir()
    shutil.copytree(space.store_directory, fence / "memory" / "data")
    run(fence, "fleet", "export", "--events", str(fence / "parquet"))
    return fence
