"""`session-memory config agents`: what is on the machine, captured or not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from session_memory.__main__ import main
from session_memory.adapters import registry
from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.cline.log_builder import ClineLog
from session_memory.adapters.opencode.log_builder import OpenCodeLog, token_row


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, Any]]:
    """What `agents --json` answers, by flavour."""
    assert main(["config", "agents", "--json"]) == 0
    return {agent["flavor"]: agent for agent in json.loads(capsys.readouterr().out)["agents"]}


@pytest.fixture
def opencode(home: Path) -> Path:
    """The data directory of an OpenCode with one session of an unknown part."""
    place = home / ".local" / "share" / "opencode"
    log = OpenCodeLog(1)
    log.prompt("hello")
    log.part({"type": "hologram"})
    log.say("hi")
    log.end_step(token_row(3, 4))
    log.write(place)
    return place


def test_an_empty_machine_has_no_agents_and_says_where_it_looked(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    assert main(["config", "agents", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["agents"] == []
    assert set(answer["not_found"]) == set(registry.adapters())
    assert answer["not_found"]["opencode"] == [str(home / ".local/share/opencode")]
    assert main(["config", "agents"]) == 0
    out, err = capsys.readouterr()
    assert (out, err.startswith("not found: claude")) == ("", True)


def test_agents_are_found_before_anything_was_captured_and_nothing_is_made(
    capsys: pytest.CaptureFixture[str], home: Path, opencode: Path, tmp_path: Path
) -> None:
    path = ClaudeLog(1).write(home / ".claude")
    found = told(capsys)
    assert set(found) == {"claude", "opencode"}
    claude = found["claude"]
    assert (claude["files"], claude["bytes"]) == (1, path.stat().st_size)
    assert claude["deletion"] == {"days": 30, "where": "default"}
    ours = found["opencode"]
    assert (ours["paths"], ours["files"], ours["sessions"]) == ([str(opencode)], 1, 0)
    assert (ours["deletion"], ours["hooks"], ours["mcp"]) == (None, "absent", "absent")
    assert not (tmp_path / "memory").exists()


@pytest.mark.usefixtures("opencode")
def test_a_sweep_adds_sessions_versions_activity_and_what_nobody_understood(
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = OpenCodeLog(2)
    other.info["version"] = "1.19.0"
    other.now += 10_000_000
    other.prompt("later")
    other.write(Path.home() / ".local/share/opencode")
    main(["-q", "sweep"])
    capsys.readouterr()
    agent = told(capsys)["opencode"]
    assert (agent["sessions"], agent["client_versions"]) == (2, ["1.19.0", "1.18.33"])
    assert agent["unread"] == {"1.18.33: part/hologram": 1}
    assert agent["last_activity"] == other.now
    assert main(["config", "agents"]) == 0
    heading, row, unread = capsys.readouterr().out.splitlines()
    assert heading.split()[:3] == ["agent", "hooks", "mcp"]
    assert row.split()[0] == "opencode"
    assert "1.19.0 (+1)" in row
    assert unread == "opencode 1.18.33: part/hologram: 1 records of unknown type"


def test_what_was_captured_of_an_agent_that_has_gone_is_still_listed(
    capsys: pytest.CaptureFixture[str], opencode: Path
) -> None:
    main(["-q", "sweep"])
    capsys.readouterr()
    (opencode / "opencode.db").unlink()
    opencode.rmdir()
    agent = told(capsys)["opencode"]
    assert (agent["paths"], agent["files"], agent["sessions"]) == ([], 0, 1)


@pytest.mark.usefixtures("opencode")
def test_an_agent_that_is_switched_off_is_not_looked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--set", "sources.opencode.enabled=false", "config", "agents", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["agents"] == []
    assert "opencode" not in answer["not_found"]


@pytest.mark.parametrize("content", [b"no json", b"[]", b'{"report": 3}', b'{"report": {}}'])
def test_a_damaged_report_of_the_last_sweep_is_passed_over(
    capsys: pytest.CaptureFixture[str], opencode: Path, tmp_path: Path, content: bytes
) -> None:
    main(["-q", "sweep"])
    capsys.readouterr()
    (report,) = (tmp_path / "memory").rglob("last*sweep*.json")
    report.write_bytes(content)
    assert told(capsys)["opencode"]["unread"] == {}
    assert opencode.is_dir()


@pytest.mark.rows("CAP-23")
def test_an_agent_whose_reader_met_no_genuine_log_is_marked(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    ClaudeLog(1).write(home / ".claude")
    log = ClineLog(1)
    log.prompt("go")
    log.write(home / ".cline" / "data")
    assert {name: agent["experimental"] for name, agent in told(capsys).items()} == {
        "claude": False,
        "cline": True,
    }
    assert main(["config", "agents"]) == 0
    assert "cline (experimental)" in capsys.readouterr().out
