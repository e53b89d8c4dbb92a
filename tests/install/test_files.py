"""Files of agents are written with their mode and order, whole, and with a backup."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from tests.install.configs import CLAUDE_SETTINGS, LIVED_IN
from tests.install.machine import Machine
from tests.install.test_apply import Directly

from session_memory.install import files
from session_memory.testing.faults import OPERATIONS, Counter, CountingOs


def test_mode_and_order_stay_and_a_backup_is_made(machine: Machine) -> None:
    path = machine.write(".claude/settings.json", CLAUDE_SETTINGS, 0o640)
    machine.init()
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(machine.json(".claude/settings.json"))[:2] == ["$schema", "model"]
    backup = Path(str(path) + files.BACKUP)
    assert backup.read_text() == CLAUDE_SETTINGS
    assert backup.stat().st_mode & 0o777 == 0o640
    machine.uninstall()
    assert not backup.exists()


@pytest.mark.parametrize("way", ["init", "uninstall"])
@pytest.mark.parametrize("stays", [False, True])
def test_a_disk_that_fails_at_any_point_leaves_each_file_whole_and_a_rerun_ends_well(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, way: str, stays: bool
) -> None:
    for name, text in LIVED_IN["codex"].items():
        machine.write(name, text)
    before = machine.files()
    direct = Directly(machine)
    direct.init()
    after = machine.files()
    direct.uninstall()
    assert machine.files() == before
    failures = 0
    for nth in range(1, 200, 3 if stays else 1):
        if way == "uninstall":
            direct.init()
        counter = Counter(nth, OPERATIONS, stays=stays)
        with monkeypatch.context() as patch:
            patch.setattr(files, "os", CountingOs(counter, errno.ENOSPC))
            direct.init() if way == "init" else direct.uninstall()
        seen = machine.files()
        for name in before:
            assert seen[name] in (before[name], after[name]), (nth, name)
        if not counter.failed:
            break
        failures += 1
        assert direct.init().problems == ()
        assert machine.files() == after
        assert direct.uninstall().problems == ()
        assert machine.files() == before
    assert failures > 3


def test_a_file_that_changes_while_we_write_is_left_alone(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = machine.write(".claude.json", '{"numStartups": 1}')
    machine.have("claude")
    real = os.fsync

    def meanwhile(descriptor: int) -> None:
        real(descriptor)
        if os.fstat(descriptor).st_size > 20 and machine.launcher.exists():  # ours are written
            path.write_text('{"numStartups": 2}')

    with monkeypatch.context() as patch:
        patch.setattr(files.os, "fsync", meanwhile)
        done = machine.init()
    assert done.code == 3
    assert "changed meanwhile" in done.err
    assert path.read_text() == '{"numStartups": 2}'
    assert machine.init().code == 0
    assert machine.json(".claude.json")["numStartups"] == 2
