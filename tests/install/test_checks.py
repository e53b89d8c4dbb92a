"""Interpreters and launchers that agents' settings name."""

from __future__ import annotations

import json

import pytest
from tests.cli.test_doctor_wiring import checks, named
from tests.install.machine import Machine

from session_memory.adapters.claude.log_builder import ClaudeLog

SERVER = "session-memory"


@pytest.mark.rows("WIR-14")
def test_an_interpreter_that_moved_is_a_failure_that_fix_cures(machine: Machine) -> None:
    machine.have("claude")
    machine.run("init", "--yes")
    good = machine.launcher.read_text()
    (check,) = named(machine, "program")
    assert check["result"] == "pass"
    python = check["detail"]
    machine.launcher.write_text(good.replace(python, "/opt/gone/python3.11"))
    code, found = checks(machine)
    (check,) = [one for one in found if one["name"] == "program"]
    assert (code, check["result"], check["fixable"]) == (1, "fail", True)
    assert "agents run /opt/gone/python3.11, which is not there any more" in check["detail"]
    assert check["fix"] == "session-memory init --yes"
    machine.run("doctor", "--quick", "--fix")
    assert machine.launcher.read_text() == good


@pytest.mark.rows("WIR-14")
def test_another_interpreter_is_a_warning(machine: Machine) -> None:
    other = machine.home / "python"
    other.write_text("#!/bin/sh\n")
    machine.have("claude")
    machine.run("init", "--yes")
    (check,) = named(machine, "program")
    text = machine.launcher.read_text()
    machine.launcher.write_text(text.replace(check["detail"], str(other)))
    (check,) = named(machine, "program")
    assert (check["result"], str(other) in check["detail"]) == ("warn", True)


@pytest.mark.rows("WIR-14")
def test_settings_that_name_a_launcher_that_is_gone_say_which(machine: Machine) -> None:
    machine.have("claude")
    machine.run("init", "--yes")
    path = machine.home / ".claude/settings.json"
    path.write_text(path.read_text().replace(str(machine.launcher.parent), "/gone/hooks"))
    (check,) = named(machine, "claude")
    assert "/gone/hooks/session-memory-hook is not there any more" in check["detail"]
    assert check["fixable"] is True
    entry = {"command": "/gone/python", "args": ["-I", "-m", "session_memory", "mcp"]}
    machine.write(".claude.json", json.dumps({"mcpServers": {SERVER: entry}}))
    (check,) = named(machine, "claude")
    assert "/gone/hooks/session-memory-hook, /gone/python is not" in check["detail"]
    machine.run("doctor", "--quick", "--fix")
    assert named(machine, "claude")[0]["result"] == "pass"


@pytest.mark.rows("WIR-14")
def test_an_entry_made_by_hand_passes_unless_its_program_is_gone(machine: Machine) -> None:
    machine.have("claude")
    entry = {"command": "session-memory", "args": ["mcp"]}
    machine.write(".claude.json", json.dumps({"mcpServers": {SERVER: entry}}))
    machine.init()
    (check,) = named(machine, "claude")
    assert (check["result"], "session-memory is not there" in check["detail"]) == ("warn", True)
    program = machine.programs / "session-memory"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (check,) = named(machine, "claude")
    assert (check["result"], check["detail"]) == ("pass", "hooks wired, mcp hand-made")


@pytest.mark.rows("WIR-16")
def test_an_agent_that_is_too_old_for_our_hooks_is_named(machine: Machine) -> None:
    log = ClaudeLog(1)
    log.version = "1.0.40"
    log.prompt("hello")
    log.write(machine.home / ".claude")
    machine.run("init", "--yes")
    (check,) = named(machine, "claude age")
    assert check["result"] == "warn"
    assert "1.0.40" in check["detail"] and "1.0.85" in check["detail"]
    assert check["fix"] == "claude update"
    newer = ClaudeLog(2, start=log.now + 86_400_000)
    newer.version = "2.1.300"
    newer.prompt("hello again")
    newer.write(machine.home / ".claude")
    machine.run("sweep")
    assert named(machine, "claude age") == []
