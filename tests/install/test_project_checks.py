"""Projects that were wired one by one are checked too."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.test_doctor_wiring import named
from tests.install.machine import Machine


@pytest.fixture
def shop(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, wired for Gemini CLI alone."""
    root = machine.home / "code" / "shop"
    (root / ".git").mkdir(parents=True)
    monkeypatch.chdir(root)
    machine.have("gemini")
    assert machine.init("--project", "--agent", "gemini").code == 0
    return root


@pytest.mark.rows("WIR-17")
def test_a_wired_project_is_checked_and_renewed(machine: Machine, shop: Path) -> None:
    (check,) = named(machine, "project shop")
    assert (check["result"], str(shop) in check["detail"]) == ("pass", True)
    path = shop / ".gemini/settings.json"
    good = path.read_text()
    path.write_text(good.replace(str(machine.launcher.parent), "/gone/hooks"))
    (check,) = named(machine, "project shop")
    assert (check["result"], check["fixable"]) == ("warn", True)
    assert check["fix"] == f"cd {shop} && session-memory init --project --agent gemini"
    dry = machine.run("doctor", "--quick", "--fix", "--dry-run")
    assert f"would renew our entries in {path}" in dry.out
    assert path.read_text() != good
    machine.run("doctor", "--quick", "--fix")
    assert path.read_text() == good


@pytest.mark.rows("WIR-17")
def test_a_project_whose_entries_were_taken_out_is_not_wired_again(
    machine: Machine, shop: Path
) -> None:
    path = shop / ".gemini/settings.json"
    path.write_text("{}")
    (check,) = named(machine, "project shop")
    assert (check["result"], "taken out" in check["detail"]) == ("warn", True)
    machine.run("doctor", "--quick", "--fix")
    assert path.read_text() == "{}"
    path.write_text("{")
    assert named(machine, "project shop")[0]["result"] == "fail"


@pytest.mark.rows("WIR-17")
def test_a_project_that_is_gone_is_named(
    machine: Machine, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(machine.home)
    shop.rename(shop.with_name("store"))
    (check,) = named(machine, "project shop")
    assert (check["result"], "not there any more" in check["detail"]) == ("warn", True)
    assert "init --project" in check["fix"]


@pytest.mark.rows("WIR-17")
def test_files_of_ours_that_git_tracks_are_named(machine: Machine, shop: Path) -> None:
    (shop / ".git/index").write_bytes(b"DIRC\0\0\0\2.gemini/settings.json\0\0")
    found = [check for check in named(machine, "project shop") if check["result"] == "warn"]
    (check,) = found
    assert "git tracks .gemini/settings.json" in check["detail"]
    assert check["fix"] == f"git -C {shop} rm --cached .gemini/settings.json"


@pytest.mark.rows("WIR-17")
def test_a_repository_that_another_machine_wired_is_named(
    machine: Machine, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shop / ".gemini/settings.json"
    text = path.read_text().replace(str(machine.launcher.parent), "/home/other/hooks")
    machine.uninstall()
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    (check,) = named(machine, "project shop")
    assert "run /home/other/hooks/session-memory-" in check["detail"]
    assert "not on this machine" in check["detail"]
    assert machine.init("--project", "--agent", "gemini").code == 0
    assert named(machine, "project shop")[0]["result"] == "pass"
    monkeypatch.chdir(machine.home)
