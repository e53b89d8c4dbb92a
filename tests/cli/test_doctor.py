"""doctor: each trouble is found, its cure is named, and the exit code tells."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.install.machine import Machine


def checks(machine: Machine, *words: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Exit code and checks by name."""
    done = machine.run("doctor", "--json", *(words or ("--quick",)))
    return done.code, {check["name"]: check for check in json.loads(done.out)["checks"]}


@pytest.fixture
def wired(machine: Machine) -> Machine:
    """Claude Code and Gemini, wired, and a first sweep."""
    machine.have("claude", "gemini")
    assert machine.run("init", "--yes").code == 0
    return machine


def test_all_is_well_after_init_with_the_whole_way_tried(wired: Machine) -> None:
    code, found = checks(wired, "--fix")
    bad = {name: check for name, check in found.items() if check["result"] != "pass"}
    assert set(bad) <= {"space", "mcp"}  # a machine with little space left, or a busy one
    assert code == (3 if bad else 0)
    assert "recorded, captured and found" in found["round trip"]["detail"]
    assert "tools listed" in found["mcp"]["detail"]
    assert json.loads(wired.run("sessions", "--json").out)["sessions"] == []  # nothing made up


def test_doctor_says_how_to_set_up_a_new_machine(machine: Machine) -> None:
    machine.have("claude")
    code, found = checks(machine)
    assert code == 3
    assert found["hook files"]["fix"] == "session-memory init"
    assert found["claude"]["result"] == "warn"
    assert found["claude"]["fix"] == "session-memory init --agent claude"
    machine.have("gemini", "qwen")
    output = machine.run("doctor", "--quick").out
    assert "warn  not wired    claude, gemini, qwen\n" in output
    assert output.count("session-memory init, or with --agent NAME") == 1


def test_a_missing_hook_file_is_a_failure_and_fix_cures_it(wired: Machine) -> None:
    (wired.launcher.parent / "entry.py").unlink()
    code, found = checks(wired)
    assert (code, found["hook files"]["result"]) == (1, "fail")
    done = wired.run("doctor", "--quick", "--fix")
    assert "fixed renewed" in done.out
    assert checks(wired)[1]["hook files"]["result"] == "pass"


def test_a_launcher_that_names_another_interpreter_is_noticed(wired: Machine) -> None:
    text = wired.launcher.read_text()
    wired.launcher.write_text(text.replace("/bin/", "/moved/bin/"))
    assert checks(wired)[1]["hook files"]["result"] == "warn"
    wired.run("doctor", "--quick", "--fix")
    assert wired.launcher.read_text() == text


def test_an_entry_that_names_another_place_is_noticed_and_renewed(wired: Machine) -> None:
    path = wired.home / ".gemini/settings.json"
    good = path.read_text()
    path.write_text(good.replace(str(wired.launcher), "/gone/hooks/session-memory-hook", 1))
    code, found = checks(wired)
    assert (code, found["gemini"]["result"]) == (3, "warn")
    assert "hooks outdated" in found["gemini"]["detail"]
    wired.run("doctor", "--quick", "--fix")
    assert path.read_text() == good


def test_fix_wires_no_agent_that_was_never_wired(wired: Machine) -> None:
    wired.have("qwen")
    wired.run("doctor", "--quick", "--fix")
    assert not (wired.home / ".qwen/settings.json").exists()


def test_a_configuration_that_cannot_be_read_is_a_failure(wired: Machine) -> None:
    (wired.home / ".claude/settings.json").write_text("{")
    code, found = checks(wired)
    assert (code, found["claude"]["result"]) == (1, "fail")
    assert "settings.json: it is not valid JSON" in found["claude"]["detail"]
    assert "fix the file" in found["claude"]["fix"]
    answer = json.loads(wired.run("config", "agents", "--json").out)
    claude = next(agent for agent in answer["agents"] if agent["flavor"] == "claude")
    assert (claude["hooks"], claude["mcp"]) == ("refused", "wired")


def test_hooks_that_codex_skips_are_reported(machine: Machine) -> None:
    machine.have("codex")
    machine.init()
    found = checks(machine)[1]
    assert found["codex trust"]["result"] == "warn"
    assert "7 of 7" in found["codex trust"]["detail"]
    machine.init("--trust-codex-hooks")
    assert checks(machine)[1]["codex trust"]["result"] == "pass"
    config = machine.home / ".codex/config.toml"
    config.write_text(
        config.read_text().replace("trusted_hash = ", "enabled = false\ntrusted_hash = ", 1)
    )
    assert "1 of 7" in checks(machine)[1]["codex trust"]["detail"]


@pytest.mark.parametrize(
    ("agent", "name", "text", "states"),
    [
        ("claude", ".claude/settings.json", '{"disableAllHooks": true}', ("off", "wired")),
        (
            "gemini",
            ".gemini/settings.json",
            '{"hooksConfig": {"enabled": false}}',
            ("off", "wired"),
        ),
        ("qwen", ".qwen/settings.json", '{"disableAllHooks": true}', ("off", "wired")),
        ("codex", ".codex/config.toml", "[features]\nhooks = false\n", ("off", "wired")),
    ],
)
def test_what_the_user_switched_off_is_reported_and_left_off(
    machine: Machine, agent: str, name: str, text: str, states: tuple[str, str]
) -> None:
    path = machine.write(name, text)
    machine.init()
    code, found = checks(machine)
    assert (code, found[agent]["result"]) == (3, "warn")
    answer = json.loads(machine.run("config", "agents", "--json").out)
    (output,) = [one for one in answer["agents"] if one["flavor"] == agent]
    assert (output["hooks"], output["mcp"]) == states
    machine.uninstall()
    assert path.read_text() == text


def test_a_server_the_user_switched_off_stays_off(machine: Machine) -> None:
    machine.have("opencode")
    machine.init()
    path = machine.home / ".config/opencode/opencode.json"
    path.write_text(path.read_text().replace('"enabled": true', '"enabled": false'))
    machine.init()
    assert (
        machine.json(".config/opencode/opencode.json")["mcp"]["session-memory"]["enabled"] is False
    )
    assert "mcp off" in checks(machine)[1]["opencode"]["detail"]


def test_complaints_of_hooks_and_a_crowded_spool_are_reported(wired: Machine) -> None:
    state = wired.memory / "state"
    (state / "hook-errors.log").write_text("2026-11-16T00:00:00Z stop the spool is full\n")
    (state / "spool").mkdir(exist_ok=True)
    for number in range(1000):
        (state / "spool" / f"{number:020d}-1-aaaaaaaa.json").write_text("{}")
    found = checks(wired)[1]
    assert "the spool is full" in found["hook log"]["detail"]
    assert found["spool"]["fix"] == "session-memory worker run"


@pytest.mark.parametrize("name", [".", "store.db"])
def test_files_that_others_may_read_are_made_private(name: str, wired: Machine) -> None:
    (wired.memory / "data" / name).chmod(0o755)
    (wired.memory / "data" / "link").symlink_to("store.db")  # its own mode means nothing
    found = checks(wired)[1]["modes"]
    assert found["result"] == "fail" and "1 file others may read" in found["detail"]
    done = wired.run("doctor", "--quick", "--fix")
    assert "made" in done.out
    assert checks(wired)[1]["modes"]["result"] == "pass"


def test_a_damaged_ledger_is_reported_with_its_cure(wired: Machine) -> None:
    (wired.memory / "data" / "install.json").write_text("{")
    code, found = checks(wired)
    assert (code, found["wiring"]["result"]) == (1, "fail")
    assert "move it away" in found["wiring"]["fix"]
