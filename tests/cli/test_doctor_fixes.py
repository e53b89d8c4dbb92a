"""doctor --fix: says first what it would do."""

from __future__ import annotations

import json

import pytest
from tests.install.machine import Machine


@pytest.mark.rows("WIR-18")
def test_fix_says_first_what_it_would_do_and_counts_come_last(machine: Machine) -> None:
    machine.have("claude", "gemini")
    machine.run("init", "--yes")
    settings = machine.home / ".gemini/settings.json"
    good = settings.read_text()
    settings.write_text(good.replace(str(machine.launcher.parent), "/gone/hooks"))
    (machine.launcher.parent / "entry.py").unlink()
    (machine.memory / "data" / "store.db").chmod(0o644)
    before = machine.run("doctor", "--quick")
    assert before.code == 1
    last = before.out.splitlines()[-1]
    assert "1 warning, 2 failures" in last and "does 3 of the fixes" in last
    dry = machine.run("doctor", "--quick", "--fix", "--dry-run", "--json")
    answer = json.loads(dry.out)
    assert (dry.code, len(answer["would_fix"]), answer["fixed"]) == (1, 3, [])
    assert answer["counts"]["fail"] == 2
    done = json.loads(machine.run("doctor", "--quick", "--fix", "--json").out)
    assert (len(done["fixed"]), done["not_fixed"], done["counts"]["fail"]) == (3, [], 0)
    assert settings.read_text() == good
    machine.uninstall()
    assert not settings.exists()


@pytest.mark.rows("WIR-18")
def test_dry_run_goes_with_fix(machine: Machine) -> None:
    done = machine.run("doctor", "--dry-run")
    assert (done.code, "goes with --fix" in done.err) == (2, True)


@pytest.mark.rows("WIR-18")
def test_what_cannot_be_fixed_or_checked_stops_nothing_else(machine: Machine) -> None:
    machine.have("claude")
    machine.run("init", "--yes")
    (machine.memory / "data" / "install.json").write_text("{")
    (machine.memory / "data" / "store.db").chmod(0o644)
    done = json.loads(machine.run("doctor", "--quick", "--fix", "--json").out)
    assert any("private" in text for text in done["fixed"])
    assert any("install.json" in text for text in done["not_fixed"])
    results = {check["name"]: check["result"] for check in done["checks"]}
    assert (results["wiring"], results["claude"], results["modes"]) == ("fail", "pass", "pass")
