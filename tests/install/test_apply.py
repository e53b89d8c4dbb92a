"""A run of `init` that is killed is ended by the next one."""

from __future__ import annotations

import contextlib
import errno
from typing import Any

import pytest
from tests.install.configs import LIVED_IN
from tests.install.machine import Machine

from session_memory.adapters.shared_wiring.client import InstallContext
from session_memory.adapters.shared_wiring.launchers import find_launchers
from session_memory.install import files
from session_memory.install.apply import InstallResult, apply_init, apply_uninstall
from session_memory.install.ledger import installing
from session_memory.install.plan import InstallRequest, plan_init, plan_uninstall
from session_memory.install.survey import chosen
from session_memory.paths import find_paths
from session_memory.testing.faults import OPERATIONS, Counter, CountingOs, Stopped


class Directly:
    """init and uninstall without the command line, which takes longer than all that they do."""

    def __init__(self, machine: Machine) -> None:
        self.paths = find_paths({"SESSION_MEMORY_HOME": str(machine.memory)})
        ours = find_launchers({}, self.paths, None)
        clients = tuple(chosen(("codex",)))
        self.request = InstallRequest(
            clients, InstallContext(str(machine.home)), ours, approve_hooks=True
        )

    def init(self) -> InstallResult:
        with installing(self.paths.data) as ledger:
            plan = plan_init(self.request, files.read_file, ledger)
            return apply_init(self.paths.data, plan, ledger, lambda: 1)

    def uninstall(self) -> InstallResult:
        with installing(self.paths.data) as ledger:
            plan = plan_uninstall(self.request, files.read_file, ledger)
            return apply_uninstall(self.paths.data, plan, ledger, lambda: 2)


class DyingOs(CountingOs):
    """The `os` module of a process that dies at an operation: nothing of it is done any more."""

    def __getattr__(self, name: str) -> Any:
        real = super().__getattr__(name)
        if name not in OPERATIONS:
            return real

        def call(*arguments: Any, **options: Any) -> Any:
            try:
                return real(*arguments, **options)
            except OSError as error:
                raise (Stopped(name) if self._counter.failed else error) from None

        return call


@pytest.mark.parametrize("way", ["init", "uninstall"])
def test_a_run_that_is_killed_anywhere_is_ended_by_the_next(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    machine.have("codex")
    machine.write(".codex/config.toml", LIVED_IN["codex"][".codex/config.toml"])
    before = machine.files()
    direct = Directly(machine)
    direct.init()
    after = machine.files()
    direct.uninstall()
    deaths = 0
    for nth in range(1, 100, 2):
        if way == "uninstall":
            direct.init()
        counter = Counter(nth, OPERATIONS, stays=True)
        with monkeypatch.context() as patch, contextlib.suppress(Stopped):
            patch.setattr(files, "os", DyingOs(counter, errno.EIO))
            direct.init() if way == "init" else direct.uninstall()
        if not counter.failed:
            break
        deaths += 1
        assert direct.init().problems == ()
        assert machine.files() == after, nth
        assert direct.uninstall().problems == ()
        assert machine.files() == before, nth
    assert deaths > 3
