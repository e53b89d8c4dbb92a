"""A swap of stores that was cut off is finished."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest
from tests.cli.test_restore import backup, overwrite, restore, run, space

from session_memory.__main__ import main
from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.store import swap
from session_memory.testing.faults import failing_disk, second_faults_pass
from session_memory.testing.workspace import Workspace

__all__ = ["backup", "space"]


@pytest.mark.rows("BAK-04")
def test_a_swap_that_was_cut_off_is_finished_by_the_next_command(
    space: Workspace, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = space.dump()
    overwrite(space)
    restore(space, backup)  # to see what moves
    assert space.dump() == before
    staged = space.store_directory / swap.STAGING
    staged.mkdir()
    for name in ("store.db", "segments"):
        (space.store_directory / name).rename(staged / name)
    plan = swap.Plan("before-restore-x", ("store.db", "segments"), ("segments", "store.db"))
    (space.store_directory / "before-restore-x").mkdir()
    for name in ("store.db", "segments"):
        (space.store_directory / "before-restore-x" / name).touch()
    (space.store_directory / swap.PLAN).write_bytes(msgspec.json.encode(plan))
    done = run(space, "status")
    assert done.returncode == 0, done.stderr
    assert not swap.is_cut_off(str(space.store_directory))
    assert not staged.exists()
    assert space.dump() == before


@pytest.mark.rows("BAK-04")
@pytest.mark.parametrize("kind", ["disk full", "I/O error", "failed rename"])
def test_a_disk_that_fails_leaves_the_old_or_the_new_store(
    space: Workspace, backup: Path, kind: str
) -> None:
    older = space.dump()
    later = ClaudeLog(703)
    later.prompt("after the backup")
    space.write(later)
    space.sweep()
    newer = space.dump()
    shutil.copytree(space.store_directory, space.root / "before")

    def start_again() -> None:
        shutil.rmtree(space.store_directory)
        shutil.copytree(space.root / "before", space.store_directory)

    arguments = ["--config", str(space.write_config()), "store", "restore", "--yes", str(backup)]
    with failing_disk(kind, 0) as counter:
        assert main(arguments) == 0
    failed = 0
    for nth in range(1, counter.done + 1, max(1, counter.done // 6)):
        start_again()
        with second_faults_pass(), failing_disk(kind, nth, stays=bool(nth % 2)):
            failed += main(arguments) != 0
        assert space.dump() in (older, newer), f"{kind} {nth}"
        assert space.findings() == []
        assert main(arguments) == 0
        assert space.dump() == older
    assert failed
