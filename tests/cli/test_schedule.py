"""`config schedule` as a user runs it."""

from __future__ import annotations

import sys

import pytest
from tests.install.machine import Machine
from tests.install.test_schedule_run import CRON, found, program

from session_memory.install.schedule import MARK


def test_init_can_schedule_and_uninstall_takes_that_away_too(machine: Machine) -> None:
    program(machine.programs, "crontab", CRON)
    machine.have("claude")
    machine.init("--schedule")
    assert MARK in (machine.programs / "table").read_text()
    machine.uninstall()
    assert not (machine.programs / "table").exists()


@pytest.mark.rows("ING-05", "RET-01")
def test_the_configured_cadence_decides_unless_an_interval_is_given(machine: Machine) -> None:
    program(machine.programs, "crontab", CRON)

    def scheduled(*before: str, after: tuple[str, ...] = ()) -> str:
        done = machine.run(*before, "config", "schedule", "install", "--dry-run", *after)
        assert done.code == 0, done.err
        return done.out

    assert "17 * * * *" in scheduled()
    assert "*/30 * * * *" in scheduled("--set", "ingest.cadence=30m")
    assert "17 */6 * * *" in scheduled("--set", "ingest.cadence=30m", after=("--every", "6h"))
    machine.run("--set", "ingest.cadence=10m", "init", "--yes", "--no-sweep", "--schedule")
    assert "*/10 * * * *" in (machine.programs / "table").read_text()
    wrong = machine.run("--set", "ingest.cadence=7m", "config", "schedule", "install")
    assert wrong.code == 4 and "5m to 1d" in wrong.err


@pytest.mark.rows("WIR-14")
def test_a_schedule_that_is_gone_or_runs_another_python_is_found(machine: Machine) -> None:
    program(machine.programs, "crontab", CRON)
    assert found(machine) == []
    assert machine.run("config", "schedule", "install", "--every", "1h").code == 0
    assert found(machine) == [("pass", "sweeps run by cron")]
    table = machine.programs / "table"
    good = table.read_text()
    table.write_text(good.replace(sys.executable, "/opt/gone/python"))
    ((result, detail),) = found(machine)
    assert (result, "another Python" in detail) == ("warn", True)
    table.write_text("0 2 * * * mine\n")
    ((result, detail),) = found(machine)
    assert (result, "not there any more" in detail) == ("warn", True)
    assert machine.run("config", "schedule", "install", "--every", "1h").code == 0
    assert found(machine)[0][0] == "pass"
