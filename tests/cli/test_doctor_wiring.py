"""doctor: what may stand between an agent and its memory is found, with a fix to type."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.install.machine import Machine

from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.clock import iso, now_ms

Found = list[dict[str, Any]]


def checks(machine: Machine, *words: str) -> tuple[int, Found]:
    """Exit code and checks."""
    done = machine.run("doctor", "--quick", "--json", *words)
    return done.code, json.loads(done.out)["checks"]


def named(machine: Machine, name: str) -> Found:
    return [check for check in checks(machine)[1] if check["name"] == name]


@pytest.mark.rows("WIR-15")
@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("stop the spool is full: no worker drains it", "session-memory worker run"),
        ("stop the record was not written whole: disk full?", "free some space"),
        ("stop PermissionError 13 line 400", "do what `owner`"),
        ("stop KeyError  line 12", "session-memory init --yes"),
    ],
)
def test_hooks_that_failed_lately_are_counted(machine: Machine, text: str, fix: str) -> None:
    machine.have("claude")
    machine.init()
    log = machine.memory / "state" / "hook-errors.log"
    log.write_text(f"2020-01-01T00:00:00Z {text}\n")
    assert named(machine, "hook log")[0]["result"] == "pass"  # long ago
    stamp = (iso(now_ms() - 3_600_000) or "")[:19] + "Z"
    log.write_text(f"2020-01-01T00:00:00Z {text}\n{stamp} {text}\n{stamp} {text}\n")
    (check,) = named(machine, "hook log")
    assert check["result"] == "warn"
    assert "failed 2 times in the last 7 days" in check["detail"]
    assert stamp in check["detail"] and fix in check["fix"]


@pytest.mark.rows("WIR-15")
def test_hooks_that_are_never_called_are_noticed(machine: Machine) -> None:
    machine.have("claude", "gemini")
    machine.run("init", "--yes")
    logs = [ClaudeLog(seed, start=now_ms() + seed * 60_000) for seed in (1, 2, 3)]
    for log in logs[:2]:
        log.prompt("hello")
        log.write(machine.home / ".claude")
    machine.run("sweep")
    assert named(machine, "claude calls") == []  # too few to say
    logs[2].prompt("hello")
    logs[2].write(machine.home / ".claude")
    machine.run("sweep")
    (check,) = named(machine, "claude calls")
    assert (check["result"], "no hook was called in 3 sessions" in check["detail"]) == (
        "warn",
        True,
    )
    assert "config schedule install" in check["fix"]
    name = f"{now_ms():020d}-1-aaaaaaaa"
    record = {"v": 1, "id": name, "at": now_ms(), "flavor": "claude", "event": "session_end"}
    record |= {"session": logs[2].session_id, "cwd": "/work/shop"}
    spool = machine.memory / "state" / "spool"
    spool.mkdir(exist_ok=True)
    (spool / f"{name}.json").write_text(json.dumps(record))
    assert named(machine, "claude calls") == []  # it waits for the worker
    machine.run("worker", "run")
    assert not list(spool.glob("*.json"))
    assert named(machine, "claude calls") == []


@pytest.mark.rows("WIR-19")
def test_tools_of_an_older_profile_are_named_and_init_moves_them_over(machine: Machine) -> None:
    machine.have("claude")
    machine.run("init", "--yes")
    server = machine.launcher.with_name("session-memory-server")
    good = server.read_text()
    assert "mcp --profile agent --idle-timeout 0" in good
    server.write_text(good.replace("--profile agent ", ""))
    settings = (machine.home / ".claude.json").read_bytes()
    (check,) = named(machine, "hook files")
    assert (check["result"], check["fixable"]) == ("warn", True)
    assert "the profile standard, not agent" in check["detail"]
    machine.run("init", "--yes")
    assert server.read_text() == good
    assert (machine.home / ".claude.json").read_bytes() == settings
