"""What `init` says: a summary before the question, and at the end what it leaves out."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.install.configs import CLAUDE_SETTINGS
from tests.install.machine import Machine

from session_memory.adapters import unread
from session_memory.adapters.cline.log_builder import ClineLog
from session_memory.adapters.opencode.log_builder import OpenCodeLog
from session_memory.adapters.registry import BUILT_IN
from session_memory.adapters.unread import UNREAD, Unread
from session_memory.errors import SessionMemoryError

STILL_UNREAD = [agent for agent in UNREAD if agent.name not in BUILT_IN]


@pytest.mark.rows("WIR-09")
def test_the_summary_names_agents_files_and_what_each_gets(machine: Machine) -> None:
    machine.write(".claude/settings.json", CLAUDE_SETTINGS)
    machine.have("codex", "pi")
    done = machine.run("init", "--dry-run")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0] == "Claude Code  hooks, MCP server"
    assert lines[1].strip() == "change ~/.claude/settings.json (+75 -1)"
    assert lines[2].strip().startswith("create ~/.claude.json (+")
    assert lines[3] == "Codex        hooks, MCP server, notify program"
    assert lines[6] == "pi           hooks"
    assert "instruction files are not changed" in done.out
    assert "+++ " not in done.out and "+++ " not in done.err
    machine.init()
    assert "Claude Code  wired already" in machine.run("init", "--dry-run").out


@pytest.mark.rows("WIR-09")
def test_json_has_what_the_summary_says(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.have("claude", "gemini")
    unread_agent = Unread("otter", "Otter", ("~/.otter/sessions",))
    monkeypatch.setattr(unread, "UNREAD", (unread_agent,))
    (machine.home / ".otter/sessions").mkdir(parents=True)
    answer = json.loads(machine.run("init", "--dry-run", "--json", "--skip", "gemini").out)
    assert {change["agent"] for change in answer["changes"]} == {"claude"}
    assert [one["agent"] for one in answer["not_wired"]] == ["gemini"]
    assert [one["agent"] for one in answer["not_read"]] == ["otter"]
    asked = machine.run("init", "--json", "--skip", "gemini")
    assert (asked.code, "--json asks no questions" in asked.err) == (8, True)
    wired = json.loads(machine.init("--json", "--skip", "gemini").out)
    assert wired["not_wired"] == answer["not_wired"]
    assert wired["not_read"] == answer["not_read"]


@pytest.mark.rows("WIR-10")
@pytest.mark.parametrize(
    ("agent", "name", "text"),
    [
        ("gemini", ".gemini/settings.json", '{"mcpServers": {"session-memory": {"command": "x"}}}'),
        ("codex", ".codex/config.toml", "[mcp_servers.session-memory]\ncommand = 'x'\n"),
    ],
)
def test_an_mcp_entry_made_by_hand_stays_and_the_rest_is_wired(
    machine: Machine, agent: str, name: str, text: str
) -> None:
    path = machine.write(name, text)
    machine.have("claude")
    done = machine.init()
    assert done.code == 0, done.err
    assert "MCP server called 'session-memory' that is not ours stays" in done.out
    assert "not ours stays as it is" in done.err
    assert "session-memory-hook" in "".join(p.read_text() for p in path.parent.glob("*.json"))
    assert "mcpServers" in machine.json(".claude.json")
    answer = json.loads(machine.run("config", "agents", "--json").out)
    (output,) = [one for one in answer["agents"] if one["flavor"] == agent]
    assert (output["hooks"], output["mcp"]) == ("wired", "hand-made")
    assert machine.uninstall().code == 0
    assert path.read_text() == text


@pytest.mark.rows("WIR-11")
def test_skip_leaves_agents_out_and_says_how_to_wire_them(machine: Machine) -> None:
    machine.have("claude", "gemini", "qwen")
    done = machine.init("--skip", "gemini,qwen")
    assert done.code == 0, done.err
    assert not (machine.home / ".gemini/settings.json").exists()
    assert "not wired  Gemini CLI: left out with --skip" in done.out
    assert "session-memory init --agent qwen" in done.out
    wrong = machine.init("--skip", "gemni")
    assert (wrong.code, "gemni" in wrong.err) == (2, True)
    read_only = machine.init("--agent", "cline")
    assert (read_only.code, "Cline cannot be wired" in read_only.err) == (2, True)
    both = machine.init("--agent", "gemini", "--agent", "qwen", "--skip", "qwen")
    assert both.code == 0
    assert (machine.home / ".gemini/settings.json").exists()
    assert not (machine.home / ".qwen/settings.json").exists()


@pytest.mark.rows("WIR-11")
def test_an_agent_that_was_skipped_is_no_finding_until_it_is_wired(machine: Machine) -> None:
    machine.have("claude", "gemini")
    machine.init("--skip", "gemini")

    def found() -> dict[str, str]:
        checks = json.loads(machine.run("doctor", "--quick", "--json").out)["checks"]
        return {check["name"]: f"{check['result']} {check['detail']}" for check in checks}

    assert found()["gemini"] == "pass not wired: left out with `init --skip`"
    machine.init("--agent", "gemini")
    machine.uninstall("--agent", "gemini")
    assert found()["gemini"].startswith("warn")
    machine.init("--skip", "gemini")
    machine.uninstall()
    assert not (machine.memory / "data" / "install.json").exists()


@pytest.mark.rows("WIR-11")
def test_agents_that_are_read_and_not_wired_are_named(machine: Machine) -> None:
    machine.have("claude")
    OpenCodeLog(1).write(machine.home / ".local/share/opencode")
    place = machine.home / ".config/Code/User/globalStorage/saoudrizwan.claude-dev"
    ClineLog(1).write(place)
    done = machine.run("init", "--yes")
    assert "not wired  OpenCode: its logs are read, but neither its program nor" in done.out
    assert "to wire it: session-memory init --agent opencode" in done.out
    assert "not wired  Cline (experimental): its logs are read, but" in done.out


@pytest.mark.rows("WIR-11")
@pytest.mark.parametrize("agent", STILL_UNREAD, ids=[agent.name for agent in STILL_UNREAD])
def test_agents_that_cannot_be_read_are_named(machine: Machine, agent: Unread) -> None:
    place = next(path for path in agent.places if path.startswith("~"))
    (machine.home / place[2:]).mkdir(parents=True)
    done = machine.init()
    assert done.code == 0
    assert f"logs in {place}; this version cannot read them" in done.out


@pytest.mark.rows("WIR-10")
@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_a_settings_folder_that_is_a_file_stops_its_agent_alone(machine: Machine) -> None:
    machine.have("claude", "codex")
    (machine.home / ".codex/hooks.json").mkdir()
    done = machine.init()
    assert done.code == 3
    assert "hooks" in machine.json(".claude/settings.json")
    assert not (machine.home / ".codex/config.toml").exists()


@pytest.mark.rows("WIR-10")
def test_an_agent_with_two_broken_files_is_named_once(machine: Machine) -> None:
    machine.have("claude")
    machine.write(".codex/hooks.json", "{")
    machine.write(".codex/config.toml", "model =")
    done = machine.init()
    assert done.code == 3
    assert done.out.count("left as it is") == 2
    assert done.out.count("not wired  Codex: ") == 1
    assert "hooks.json" in done.out.partition("not wired  Codex: ")[2].splitlines()[0]


@pytest.mark.rows("WIR-10")
def test_a_link_to_nothing_stops_its_agent_alone(machine: Machine) -> None:
    machine.have("claude", "gemini")
    Path(machine.home / ".gemini/settings.json").symlink_to(machine.home / "gone.json")
    done = machine.init()
    assert (done.code, "it is a link to nothing" in done.out) == (3, True)
    assert "hooks" in machine.json(".claude/settings.json")
    assert not (machine.home / "gone.json").exists()


@pytest.mark.rows("WIR-10")
def test_a_first_sweep_that_fails_does_not_hide_how_init_ends(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_arguments: Any, **_options: Any) -> None:
        raise SessionMemoryError("the disk is full")

    monkeypatch.setattr("session_memory.cli.sweep.sweep_and_mine", fail)
    machine.have("claude", "gemini")
    done = machine.run("init", "--yes", "--skip", "gemini")
    assert done.code == 3
    assert "the first sweep failed: the disk is full" in done.err
    assert "not wired  Gemini CLI" in done.out
    assert "hooks" in machine.json(".claude/settings.json")


@pytest.mark.rows("WIR-10")
@pytest.mark.skipif(os.name != "posix", reason="names of files are bytes on POSIX")
@pytest.mark.parametrize("variable", ["SESSION_MEMORY_HOME", "HOME"])
def test_a_path_that_is_not_utf8_is_said_and_nothing_is_written(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    odd = machine.home / os.fsdecode(b"caf\xe9")
    (odd / ".claude").mkdir(parents=True)
    machine.have("claude")
    monkeypatch.setenv(variable, str(odd))
    done = machine.init()
    assert (done.code, "not UTF-8" in done.err) == (8, True)
    assert not (machine.home / ".claude.json").exists()
    assert list((odd / ".claude").iterdir()) == []
    assert machine.run("doctor", "--quick").code == 3
    assert machine.uninstall().code == 0
