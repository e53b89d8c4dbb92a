"""init: shown first, asked once, done once, and never half."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from typing import Any

import pytest
from tests.install.configs import CLAUDE_SETTINGS, LIVED_IN
from tests.install.machine import Machine, commands

from session_memory import audit
from session_memory.adapters.claude.log_builder import ClaudeLog
from session_memory.adapters.shared_wiring.commands import hook_words
from session_memory.cli import init

TOKEN = "ghp_" + "0123456789abcdefghijABCDEFGHIJ012345"


def lived_in(machine: Machine) -> None:
    for texts in LIVED_IN.values():
        for name, text in texts.items():
            machine.write(name, text)


def test_a_dry_run_shows_every_file_and_writes_nothing(machine: Machine) -> None:
    lived_in(machine)
    before = machine.files()
    done = machine.run("init", "--dry-run", "--diff")
    assert done.code == 0
    for name in (".claude/settings.json", ".claude.json", ".codex/hooks.json", ".grok/config.toml"):
        assert f"+++ {machine.home / name}" in done.out
    command = json.dumps(machine.hook("SessionStart", "claude"))
    assert f'+            "command": {command}' in done.out
    assert machine.files() == before
    assert not machine.memory.exists()
    answer = json.loads(machine.run("init", "--dry-run", "--json").out)
    assert {change["agent"] for change in answer["changes"]} == set(LIVED_IN)


def test_without_a_terminal_nothing_is_done_unless_yes_is_said(machine: Machine) -> None:
    machine.have("claude")
    done = machine.run("init")
    assert done.code == 8
    assert "--yes" in done.err
    assert machine.files() == {".claude": (b"", machine.files()[".claude"][1])}
    assert not (machine.memory / "data" / "install.json").exists()


def test_the_second_time_nothing_changes_and_nothing_is_asked(machine: Machine) -> None:
    lived_in(machine)
    machine.init()
    first = machine.files()
    ledger = (machine.memory / "data" / "install.json").read_bytes()
    done = machine.run("init", "--no-sweep")
    assert done.code == 0
    assert machine.files() == first
    assert (machine.memory / "data" / "install.json").read_bytes() == ledger
    assert "as they should be" in done.err


def test_the_first_sweep_captures_what_is_there(machine: Machine) -> None:
    log = ClaudeLog(1)
    log.prompt("the first thing that was ever asked")
    log.write(machine.home / ".claude")
    done = machine.run("init", "--yes")
    assert done.code == 0, done.err
    assert "1 new sessions" in done.out
    assert len(json.loads(machine.run("sessions", "--json").out)["sessions"]) == 1


def test_json_is_one_object_with_the_sweep_left_out(machine: Machine) -> None:
    ClaudeLog(1).write(machine.home / ".claude")
    answer = json.loads(machine.run("init", "--yes", "--json").out)
    assert answer["wired"] == [
        str(machine.home / name) for name in (".claude/settings.json", ".claude.json")
    ]
    assert (machine.memory / "state" / "last_sweep.json").exists()


def test_only_the_agents_that_were_named_are_wired(machine: Machine) -> None:
    machine.have("claude", "gemini", "qwen")
    machine.init("--agent", "gemini")
    assert (machine.home / ".gemini/settings.json").exists()
    assert not (machine.home / ".qwen/settings.json").exists()
    assert not (machine.home / ".claude.json").exists()
    unknown = machine.init("--agent", "clod")
    assert (unknown.code, "clod" in unknown.err) == (2, True)


def test_an_agent_that_is_installed_and_was_never_run_is_wired(machine: Machine) -> None:
    program = machine.programs / "qwen"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    machine.init()
    assert "hooks" in machine.json(".qwen/settings.json")
    machine.uninstall()
    assert machine.files() == {}


def test_every_write_outside_our_places_is_noted(machine: Machine) -> None:
    path = machine.write(".claude/settings.json", CLAUDE_SETTINGS)
    machine.init()
    machine.uninstall()
    noted = audit.read(machine.memory / "data")
    ours = [one for one in noted if one.path == str(path)]
    assert [one.by for one in ours] == ["init", "uninstall"]
    assert ours[0].before == ours[1].after == audit.sha256(CLAUDE_SETTINGS.encode())
    assert {one.path for one in noted} == {str(path), str(machine.home / ".claude.json")}


def test_secrets_of_a_users_file_are_not_shown(machine: Machine) -> None:
    text = json.dumps({"env": {"GITHUB_TOKEN": TOKEN}}, indent=2)
    machine.write(".claude/settings.json", text)
    done = machine.run("init", "--dry-run", "--diff")
    assert "+++ " in done.out
    assert TOKEN not in done.out + done.err


def test_our_older_entries_are_renewed_in_their_place(machine: Machine) -> None:
    old = "/old/place/hooks/session-memory-hook"
    settings: dict[str, Any] = {
        "hooks": {
            "Stop": [
                {"hooks": [{"type": "command", "command": f"{old} Stop claude", "timeout": 33}]},
                {"hooks": [{"type": "command", "command": "theirs"}]},
                {"hooks": [{"type": "command", "command": f"{old} Stop claude"}]},
            ],
            "Notification": [
                {"hooks": [{"type": "command", "command": f"{old} Notification claude"}]}
            ],
        }
    }
    machine.write(".claude/settings.json", json.dumps(settings, indent=2))
    entry = {
        "command": "/gone/python",
        "args": ["-I", "-m", "session_memory", "mcp"],
        "env": {"SESSION_MEMORY_HOME": "/gone", "MINE": "1"},
        "disabled": True,
    }
    machine.write(".claude.json", json.dumps({"mcpServers": {"session-memory": entry}}))
    assert machine.init().code == 0
    hooks = machine.json(".claude/settings.json")["hooks"]
    assert commands(hooks, "Stop") == [machine.hook("Stop", "claude"), "theirs"]
    assert hooks["Stop"][0]["hooks"][0]["timeout"] == 33  # what is not vital is the user's
    assert "Notification" not in hooks
    server = machine.json(".claude.json")["mcpServers"]["session-memory"]
    assert [server["command"], *server["args"]] == machine.server
    assert server["env"] == {"MINE": "1", "SESSION_MEMORY_HOME": str(machine.memory)}
    assert server["disabled"] is True


def test_an_older_table_of_codex_is_renewed_and_keeps_what_the_user_added(
    machine: Machine,
) -> None:
    machine.write(
        ".codex/config.toml",
        'notify = ["/old/hooks/session-memory-hook", "notify", "codex"]\n\n'
        "[mcp_servers.session-memory] # mine\ncommand = '/gone/python'\n"
        "args = ['-I', '-m', 'session_memory', 'mcp']\nrequired = true\ntool_timeout_sec = 9\n",
    )
    machine.init()
    text = (machine.home / ".codex/config.toml").read_text()
    config = tomllib.loads(text)
    assert config["notify"] == hook_words(str(machine.launcher), "notify", "codex")
    renewed = config["mcp_servers"]["session-memory"]
    assert [renewed["command"], *renewed["args"]] == machine.server
    assert "required" not in renewed  # Codex would not start without us
    assert renewed["tool_timeout_sec"] == 9
    assert "# mine" in text


def test_a_link_is_followed_and_kept(machine: Machine) -> None:
    target = machine.write("dotfiles/claude.json", CLAUDE_SETTINGS)
    machine.have("claude")
    link = machine.home / ".claude/settings.json"
    link.symlink_to(target)
    machine.init()
    assert link.is_symlink()
    assert "session-memory-hook" in target.read_text()
    machine.uninstall()
    assert link.is_symlink()
    assert target.read_text() == CLAUDE_SETTINGS


def test_a_link_to_nothing_is_refused(machine: Machine) -> None:
    machine.have("claude")
    (machine.home / ".claude/settings.json").symlink_to(machine.home / "gone.json")
    done = machine.init()
    assert (done.code, "link to nothing" in done.err) == (8, True)


def test_a_project_cannot_lead_out_of_itself(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = machine.write("victim.json", "{}")
    project = machine.home / "shop"
    (project / ".git").mkdir(parents=True)
    (project / ".claude").mkdir()
    (project / ".claude/settings.local.json").symlink_to(victim)
    machine.have("claude")
    monkeypatch.chdir(project)
    done = machine.init("--project")
    assert (done.code, "leads out of the project" in done.err) == (8, True)
    assert victim.read_text() == "{}"


def test_a_folder_is_no_file(machine: Machine) -> None:
    (machine.home / ".claude/settings.json").mkdir(parents=True)
    done = machine.init()
    assert (done.code, "not a regular file" in done.err) == (8, True)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_reported_and_the_rest_is_done(machine: Machine) -> None:
    machine.have("claude", "gemini")
    (machine.home / ".gemini").chmod(0o500)
    done = machine.init()
    assert done.code == 3
    assert ".gemini/settings.json" in done.err
    assert "hooks" in machine.json(".claude/settings.json")


def test_two_at_once_end_as_one(machine: Machine) -> None:
    lived_in(machine)
    environ = {"HOME": str(machine.home), "SESSION_MEMORY_HOME": str(machine.memory), "PATH": ""}
    command = [sys.executable, "-m", "session_memory", "-q", "init", "--yes", "--no-sweep"]
    both = [
        subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, cwd=machine.home)
        for _ in range(2)
    ]
    assert [one.wait(timeout=120) for one in both] == [0, 0]
    once = machine.files()
    assert machine.init().code == 0
    assert machine.files() == once
    machine.uninstall()
    assert machine.init().code == 0
    assert machine.files() == once


def test_what_changed_since_it_was_shown_is_not_written(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = machine.write(".claude/settings.json", "{}")
    real = init.hook_files.states

    def meanwhile(ours: Any) -> Any:
        path.write_text('{"model": "opus"}')
        return real(ours)

    monkeypatch.setattr(init.hook_files, "states", meanwhile)
    done = machine.init()
    assert (done.code, "before you answered" in done.err) == (8, True)
    assert path.read_text() == '{"model": "opus"}'
