"""doctor: disks, owners and folders of the store."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_doctor_wiring import checks, named
from tests.install.machine import Machine

from session_memory.cli import doctor


@pytest.mark.rows("WIR-13")
@pytest.mark.parametrize(
    ("free", "result", "text"),
    [(10 * 1024**2, "fail", "is full"), (500 * 1024**2, "warn", "nearly full")],
)
def test_a_disk_that_is_full_or_nearly_so(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, free: int, result: str, text: str
) -> None:
    usage = shutil.disk_usage(machine.home)._replace(free=free)

    def nearly_full(_path: Path) -> Any:
        return usage

    monkeypatch.setattr("session_memory.cli.doctor_places.shutil.disk_usage", nearly_full)
    (check,) = named(machine, "space")
    assert (check["result"], text in check["detail"]) == (result, True)
    assert "store retention plan" in check["fix"]


@pytest.mark.rows("WIR-13")
@pytest.mark.skipif(os.name != "posix", reason="owners are POSIX")
def test_files_of_another_user_are_named_with_the_command_that_gives_them_back(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.have("claude")
    machine.run("init", "--yes")
    assert named(machine, "owner")[0]["result"] == "pass"
    mine = os.geteuid()
    monkeypatch.setattr(doctor, "current_user", lambda: mine + 1)
    monkeypatch.setattr(doctor, "user_name", {mine: "other", mine + 1: "dev"}.get)
    code, found = checks(machine)
    (check,) = [one for one in found if one["name"] == "owner"]
    assert (code, check["result"]) == (1, "fail")
    assert "belong to other" in check["detail"] and "sudo" in check["detail"]
    data, state = machine.memory / "data", machine.memory / "state"
    assert check["fix"] == f"sudo chown -R dev {data} {state}"


@pytest.mark.rows("WIR-13")
@pytest.mark.skipif(os.name != "posix", reason="owners are POSIX")
def test_root_is_told_to_leave_the_store_to_its_owner(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.have("claude")
    machine.init()
    real = os.lstat

    def belongs_to_dev(path: Any) -> os.stat_result:
        return os.stat_result([*real(path)[:4], 1234, *real(path)[5:]])

    monkeypatch.setattr(doctor, "current_user", lambda: 0)
    monkeypatch.setattr("session_memory.cli.doctor_places.os.lstat", belongs_to_dev)
    monkeypatch.setattr(doctor, "user_name", {1234: "dev"}.get)
    assert named(machine, "owner")[0]["fix"] == "run this as dev, without sudo"


@pytest.mark.rows("WIR-13")
def test_a_place_that_cannot_be_made_is_named(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_path: Path, _mode: int) -> bool:
        return False

    monkeypatch.setattr("session_memory.cli.doctor_places.os.access", refused)
    (check,) = named(machine, "owner")
    assert (check["result"], "cannot be made" in check["detail"]) == ("fail", True)
    assert "SESSION_MEMORY_HOME" in check["fix"]


@pytest.mark.rows("WIR-13")
@pytest.mark.skipif(os.name != "posix", reason="owners are POSIX")
def test_a_store_that_may_not_be_looked_into_is_named_and_nothing_else_is_lost(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.have("claude")
    machine.run("init", "--yes")
    data = str(machine.memory / "data")
    real_open, real_stat, real_access = open, os.stat, os.access

    def refusing(real: Any) -> Any:
        def call(path: Any, *arguments: Any, **options: Any) -> Any:
            if str(path).startswith(data + os.sep):
                raise PermissionError(13, "Permission denied", str(path))
            return real(path, *arguments, **options)

        return call

    def access(path: str, mode: int) -> bool:
        return path != data and real_access(path, mode)

    monkeypatch.setattr("builtins.open", refusing(real_open))
    monkeypatch.setattr("io.open", refusing(real_open))
    monkeypatch.setattr("os.stat", refusing(real_stat))
    monkeypatch.setattr("session_memory.cli.doctor_places.os.access", access)
    done = machine.run("doctor", "--quick", "--json", "--fix")
    answer = json.loads(done.out)
    results = {check["name"]: check for check in answer["checks"]}
    assert done.code == 1
    assert results["owner"]["fix"] == f"chmod u+rwx {data}"
    assert results["wiring"]["result"] == "fail"
    assert results["claude"]["result"] == "pass"
    assert results["hook log"]["result"] == "pass"
    assert len(answer["not_fixed"]) == 1
